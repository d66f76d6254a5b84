// truth: unsafe
// why: the putter signals the wrong condition: a taker that waits is never woken.
// source: own
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

public class OneSlotWrongCondition {
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
            emptied.signal();
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
        OneSlotWrongCondition slot = new OneSlotWrongCondition();
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
