// truth: unsafe
// why: who reads cannot begin to write: the lock for writing waits for all readers, oneself among them.
// source: own
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class UpgradeDeadlock {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private int value;

    void setIfZero() {
        lock.readLock().lock();
        if (value == 0) {
            lock.writeLock().lock();
            value = 1;
            lock.writeLock().unlock();
        }
        lock.readLock().unlock();
    }

    public static void main(String[] args) throws InterruptedException {
        UpgradeDeadlock cell = new UpgradeDeadlock();
        Thread t = new Thread(cell::setIfZero);
        t.start();
        t.join();
    }
}
