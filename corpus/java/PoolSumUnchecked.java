// truth: unsafe
// why: `awaitTermination` may give up before the tasks have ended, and its answer is not looked at.
// source: own
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class PoolSumUnchecked {
    private int sum;

    private synchronized void add(int n) {
        sum += n;
    }

    private synchronized int sum() {
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        PoolSumUnchecked total = new PoolSumUnchecked();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 1; i <= 2; i++) {
            final int n = i;
            pool.execute(() -> total.add(n));
        }
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS);
        assert total.sum() == 3;
    }
}
