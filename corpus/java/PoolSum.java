// truth: safe
// why: every task adds under the monitor, and the pool has ended when the sum is read.
// source: own
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class PoolSum {
    private int sum;

    private synchronized void add(int n) {
        sum += n;
    }

    private synchronized int sum() {
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        PoolSum total = new PoolSum();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 1; i <= 2; i++) {
            final int n = i;
            pool.execute(() -> total.add(n));
        }
        pool.shutdown();
        if (pool.awaitTermination(10, TimeUnit.SECONDS)) {
            assert total.sum() == 3;
        }
    }
}
