// truth: safe
// why: readers hold the read lock, the writer the write lock.
// source: own
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class CacheReadWrite {
    private final Map<String, Integer> map = new HashMap<>();
    private final ReadWriteLock lock = new ReentrantReadWriteLock();

    Integer get(String key) {
        lock.readLock().lock();
        try {
            return map.get(key);
        } finally {
            lock.readLock().unlock();
        }
    }

    void put(String key, int value) {
        lock.writeLock().lock();
        try {
            map.put(key, value);
        } finally {
            lock.writeLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        CacheReadWrite cache = new CacheReadWrite();
        Thread writer = new Thread(() -> cache.put("a", 1));
        Thread reader = new Thread(() -> {
            Integer seen = cache.get("a");
            assert seen == null || seen == 1;
        });
        writer.start();
        reader.start();
        writer.join();
        reader.join();
        assert cache.get("a") == 1;
    }
}
