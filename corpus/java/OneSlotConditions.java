// truth: safe
// why: putter and taker alternate by the flag, and each wakes the one who waits for what it did.
// source: own
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

public class OneSlotConditions {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition filled = lock.newCondition();
    private final Condition emptied = lock.newCondition();
    private boolean full;
    private int item;

    void put(int value) throws InterruptedException {
        lock.lock();
        try {
            while (full) {
                emptied.await();
            }
            item = value;
            full = true;
            filled.signal();
        } finally {
            lock.unlock();
        }
    }

    int take() throws InterruptedException {
        lock.lock();
        try {
            while (!full) {
                filled.await();
            }
            full = false;
            emptied.signal();
            return item;
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        OneSlotConditions slot = new OneSlotConditions();
        Thread producer = new Thread(() -> {
            try {
                slot.put(1);
                slot.put(2);
            } catch (InterruptedException e) {
            }
        });
        producer.start();
        int first = slot.take();
        int second = slot.take();
        producer.join();
        assert first == 1 && second == 2;
    }
}
