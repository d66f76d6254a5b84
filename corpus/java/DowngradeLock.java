// truth: safe
// why: who writes may begin to read, and gives the lock for writing back first.
// source: own
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class DowngradeLock {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private int value;

    int setAndGet(int n) {
        lock.writeLock().lock();
        lock.readLock().lock();
        value = n;
        lock.writeLock().unlock();
        try {
            return value;
        } finally {
            lock.readLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        DowngradeLock cell = new DowngradeLock();
        Thread t = new Thread(() -> {
            assert cell.setAndGet(1) == 1;
        });
        t.start();
        assert cell.setAndGet(2) == 2;
        t.join();
    }
}
