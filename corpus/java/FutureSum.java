// truth: safe
// why: `get` waits for the value of each task.
// source: own
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class FutureSum {
    static class Square implements Callable<Integer> {
        private final int n;

        Square(int n) {
            this.n = n;
        }

        @Override
        public Integer call() {
            return n * n;
        }
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        List<Future<Integer>> results = new ArrayList<>();
        results.add(pool.submit(new Square(2)));
        Future<Integer> other = pool.submit(() -> 10);
        int sum = other.get();
        for (Future<Integer> result : results) {
            sum += result.get();
        }
        pool.shutdown();
        assert sum == 14 : "sum is " + sum;
    }
}
