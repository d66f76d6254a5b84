// truth: safe
// why: each thread writes before it counts down, and main reads after both have.
// source: own
import java.util.concurrent.CountDownLatch;

public class LatchBarrier {
    static final CountDownLatch done = new CountDownLatch(2);
    static int left;
    static int right;

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> {
            left = 1;
            done.countDown();
        });
        Thread b = new Thread(() -> {
            right = 2;
            done.countDown();
        });
        a.start();
        b.start();
        done.await();
        assert left + right == 3;
    }
}
