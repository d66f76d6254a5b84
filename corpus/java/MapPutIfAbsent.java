// truth: safe
// why: putIfAbsent decides once who comes first.
// source: own
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public class MapPutIfAbsent {
    static final ConcurrentHashMap<String, Integer> owners = new ConcurrentHashMap<>();
    static final AtomicInteger winners = new AtomicInteger();

    static void claim(int who) {
        if (owners.putIfAbsent("disk", who) == null) {
            winners.incrementAndGet();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> claim(1));
        Thread b = new Thread(() -> claim(2));
        a.start();
        b.start();
        a.join();
        b.join();
        assert winners.get() == 1;
        assert owners.containsKey("disk");
    }
}
