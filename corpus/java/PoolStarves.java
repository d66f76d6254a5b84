// truth: unsafe
// why: the only thread of the pool waits for a task that stands behind it in the queue.
// source: own
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class PoolStarves {
    static final ExecutorService pool = Executors.newSingleThreadExecutor();

    static int outer() throws Exception {
        Future<Integer> inner = pool.submit(() -> 1);
        return inner.get() + 1;
    }

    public static void main(String[] args) throws Exception {
        Future<Integer> result = pool.submit(() -> outer());
        assert result.get() == 2;
        pool.shutdown();
    }
}
