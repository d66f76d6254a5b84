// truth: safe
// why: a lock may be taken again by its holder, and is free when it was left as often.
// source: own
import java.util.concurrent.locks.ReentrantLock;

public class ReentrantCounter {
    private final ReentrantLock lock = new ReentrantLock();
    private int count;

    void add(int n) {
        lock.lock();
        try {
            count += n;
        } finally {
            lock.unlock();
        }
    }

    void addTwice(int n) {
        lock.lock();
        try {
            add(n);
            add(n);
        } finally {
            lock.unlock();
        }
    }

    int get() {
        lock.lock();
        try {
            return count;
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ReentrantCounter counter = new ReentrantCounter();
        Thread t = new Thread(() -> counter.addTwice(1));
        t.start();
        int seen = counter.get();
        assert seen == 0 || seen == 2;
        t.join();
        assert counter.get() == 2;
    }
}
