// truth: unsafe
// why: two takers may be woken for one event; the second finds the queue empty.
// source: own
import java.util.ArrayDeque;

public class EventQueueIfForWhile {
    private final ArrayDeque<Integer> events = new ArrayDeque<>();

    synchronized void put(int event) {
        events.addLast(event);
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        if (events.isEmpty()) {
            wait();
        }
        return events.removeFirst();
    }

    static void consume(EventQueueIfForWhile queue) {
        try {
            int event = queue.take();
            assert event > 0;
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        EventQueueIfForWhile queue = new EventQueueIfForWhile();
        Thread a = new Thread(() -> consume(queue));
        Thread b = new Thread(() -> consume(queue));
        a.start();
        b.start();
        queue.put(1);
        queue.put(2);
        a.join();
        b.join();
    }
}
