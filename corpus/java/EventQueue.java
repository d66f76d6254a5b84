// truth: safe
// why: takers wait in a loop until there is an event.
// source: own
import java.util.ArrayDeque;

public class EventQueue {
    private final ArrayDeque<Integer> events = new ArrayDeque<>();

    synchronized void put(int event) {
        events.addLast(event);
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        while (events.isEmpty()) {
            wait();
        }
        return events.removeFirst();
    }

    static void consume(EventQueue queue) {
        try {
            int event = queue.take();
            assert event > 0;
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        EventQueue queue = new EventQueue();
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
