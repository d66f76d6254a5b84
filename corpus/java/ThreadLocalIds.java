// truth: safe
// why: each thread has a number of its own.
// source: own
import java.util.concurrent.atomic.AtomicInteger;

public class ThreadLocalIds {
    private static final AtomicInteger next = new AtomicInteger(0);
    private static final ThreadLocal<Integer> id = ThreadLocal.withInitial(() -> next.getAndIncrement());
    static volatile int mine = -1;
    static volatile int other = -1;

    public static void main(String[] args) throws InterruptedException {
        Thread t = new Thread(() -> {
            other = id.get();
            assert other == id.get();
        });
        t.start();
        mine = id.get();
        t.join();
        assert mine != other;
        assert mine == id.get();
    }
}
