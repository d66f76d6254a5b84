// truth: unsafe
// why: a pool that is shut down takes no tasks.
// source: own
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class SubmitAfterShutdown {
    static volatile int done;

    public static void main(String[] args) {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        Thread closer = new Thread(() -> pool.shutdown());
        closer.start();
        pool.submit(() -> {
            done = 1;
        });
    }
}
