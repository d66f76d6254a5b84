// truth: safe
// why: who asks the future handles what the task threw.
// source: own
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class FutureFailureHandled {
    static int divide(int a, int b) {
        if (b == 0) {
            throw new IllegalArgumentException("no divisor");
        }
        return a / b;
    }

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newCachedThreadPool();
        Callable<Integer> task = () -> divide(6, 0);
        Future<Integer> result = pool.submit(task);
        pool.shutdown();
        int value;
        try {
            value = result.get();
        } catch (ExecutionException e) {
            System.out.println("failed: " + e.getMessage());
            value = -1;
        }
        assert value == -1;
    }
}
