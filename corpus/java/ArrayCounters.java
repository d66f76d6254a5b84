// truth: safe
// why: every cell counts in one step.
// source: own
import java.util.concurrent.atomic.AtomicIntegerArray;

public class ArrayCounters {
    public static void main(String[] args) throws InterruptedException {
        AtomicIntegerArray cells = new AtomicIntegerArray(2);
        Thread t = new Thread(() -> {
            for (int i = 0; i < cells.length(); i++) {
                cells.incrementAndGet(i);
            }
        });
        t.start();
        cells.addAndGet(1, 4);
        t.join();
        assert cells.get(0) == 1 && cells.get(1) == 5;
    }
}
