// truth: unsafe
// why: the exception of the task waits in its future, and nobody expects it there.
// source: own
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class FutureFails {
    static int divide(int a, int b) {
        return a / b;
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newCachedThreadPool();
        Callable<Integer> task = () -> divide(6, 0);
        Future<Integer> result = pool.submit(task);
        pool.shutdown();
        assert result.get() >= 0;
    }
}
