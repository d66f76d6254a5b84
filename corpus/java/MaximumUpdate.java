// truth: safe
// why: the largest value stays, because each update is one step.
// source: own
import java.util.concurrent.atomic.AtomicInteger;

public class MaximumUpdate {
    static final AtomicInteger largest = new AtomicInteger();

    static void offer(int value) {
        largest.accumulateAndGet(value, Math::max);
        largest.updateAndGet(old -> old < value ? value : old);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> offer(3));
        Thread b = new Thread(() -> offer(5));
        a.start();
        b.start();
        a.join();
        b.join();
        assert largest.get() == 5;
    }
}
