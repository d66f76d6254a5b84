// truth: safe
// why: each key gets one counter, whoever comes first.
// source: own
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public class MapOfCounters {
    static final ConcurrentHashMap<String, AtomicInteger> counters = new ConcurrentHashMap<>();

    static void hit(String page) {
        counters.computeIfAbsent(page, p -> new AtomicInteger()).incrementAndGet();
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
