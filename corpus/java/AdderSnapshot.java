// truth: unsafe
// why: a sum that is taken while others add may miss what they add.
// source: own
import java.util.concurrent.atomic.LongAdder;

public class AdderSnapshot {
    public static void main(String[] args) throws InterruptedException {
        LongAdder hits = new LongAdder();
        Thread t = new Thread(() -> {
            hits.increment();
            hits.increment();
        });
        t.start();
        assert hits.sum() == 2;
        t.join();
        assert hits.sum() == 2;
    }
}
