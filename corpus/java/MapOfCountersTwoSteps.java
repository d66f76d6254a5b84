// truth: unsafe
// why: both threads may find no counter, and one of the two counters is lost.
// source: own
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public class MapOfCountersTwoSteps {
    static final ConcurrentHashMap<String, AtomicInteger> counters = new ConcurrentHashMap<>();

    static void hit(String page) {
        AtomicInteger counter = counters.get(page);
        if (counter == null) {
            counter = new AtomicInteger();
            counters.put(page, counter);
        }
        counter.incrementAndGet();
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> hit("index"));
        Thread b = new Thread(() -> hit("index"));
        a.start();
        b.start();
        a.join();
        b.join();
        assert counters.get("index").get() == 2;
    }
}
