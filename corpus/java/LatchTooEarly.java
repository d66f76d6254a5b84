// truth: unsafe
// why: the second thread counts down before it writes.
// source: own
import java.util.concurrent.CountDownLatch;

public class LatchTooEarly {
    static final CountDownLatch done = new CountDownLatch(2);
    static int left;
    static int right;

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> {
            left = 1;
            done.countDown();
        });
        Thread b = new Thread(() -> {
            done.countDown();
            right = 2;
        });
        a.start();
        b.start();
        done.await();
        assert left + right == 3;
    }
}
