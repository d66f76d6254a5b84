// truth: safe
// why: a bounded buffer with two conditions, for any kind of items.
// source: own
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

public class GenericBuffer {
    static class Buffer<T> {
        private final T[] items;
        private int head, tail, count;
        private final Lock lock = new ReentrantLock();
        private final Condition notFull = lock.newCondition();
        private final Condition notEmpty = lock.newCondition();

        @SuppressWarnings("unchecked")
        Buffer(int capacity) {
            items = (T[]) new Object[capacity];
        }

        void put(T item) throws InterruptedException {
            lock.lock();
            try {
                while (count == items.length) {
                    notFull.await();
                }
                items[tail] = item;
                tail = (tail + 1) % items.length;
                count++;
                notEmpty.signal();
            } finally {
                lock.unlock();
            }
        }

        T take() throws InterruptedException {
            lock.lock();
            try {
                while (count == 0) {
                    notEmpty.await();
                }
                T item = items[head];
                items[head] = null;
                head = (head + 1) % items.length;
                count--;
                notFull.signal();
                return item;
            } finally {
                lock.unlock();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Buffer<Integer> buffer = new Buffer<>(1);
        Thread producer = new Thread(() -> {
            try {
                for (int i = 1; i <= 2; i++) {
                    buffer.put(i);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        producer.start();
        int first = buffer.take();
        int second = buffer.take();
        producer.join();
        assert first == 1 && second == 2;
    }
}
