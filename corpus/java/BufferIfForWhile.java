// truth: unsafe
// why: a thread that wakes up without a reason goes on although nothing is there.
// source: own
public class BufferIfForWhile {
    private final int[] items = new int[2];
    private int head;
    private int tail;
    private int size;

    synchronized void put(int item) throws InterruptedException {
        if (size == items.length) {
            wait();
        }
        items[tail] = item;
        tail = (tail + 1) % items.length;
        size++;
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        if (size == 0) {
            wait();
        }
        int item = items[head];
        head = (head + 1) % items.length;
        size--;
        notifyAll();
        return item;
    }

    public static void main(String[] args) throws InterruptedException {
        BufferIfForWhile buffer = new BufferIfForWhile();
        Thread producer = new Thread(() -> {
            try {
                buffer.put(10);
                buffer.put(11);
                buffer.put(12);
            } catch (InterruptedException e) {
                System.out.println("interrupted");
            }
        });
        producer.start();
        int first = buffer.take();
        int second = buffer.take();
        int third = buffer.take();
        producer.join();
        assert first == 10 && second == 11 && third == 12;
    }
}
