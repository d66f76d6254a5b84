// truth: safe
// why: a node is linked behind the last one by one compareAndSet only, so neither enqueue is lost.
// source: own
import java.util.concurrent.atomic.AtomicReference;

public class MichaelScottQueue {
    static class Node {
        final int value;
        final AtomicReference<Node> next = new AtomicReference<>();

        Node(int value) {
            this.value = value;
        }
    }

    private final AtomicReference<Node> head = new AtomicReference<>();
    private final AtomicReference<Node> tail = new AtomicReference<>();

    MichaelScottQueue() {
        Node dummy = new Node(0);
        head.set(dummy);
        tail.set(dummy);
    }

    void enqueue(int value) {
        Node node = new Node(value);
        while (true) {
            Node last = tail.get();
            Node next = last.next.get();
            if (last == tail.get()) {
                if (next == null) {
                    if (last.next.compareAndSet(null, node)) {
                        tail.compareAndSet(last, node);
                        return;
                    }
                } else {
                    tail.compareAndSet(last, next);
                }
            }
        }
    }

    int dequeue() {
        while (true) {
            Node first = head.get();
            Node last = tail.get();
            Node next = first.next.get();
            if (first == head.get()) {
                if (first == last) {
                    if (next == null) {
                        return -1;
                    }
                    tail.compareAndSet(last, next);
                } else if (head.compareAndSet(first, next)) {
                    return next.value;
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        MichaelScottQueue queue = new MichaelScottQueue();
        Thread other = new Thread(() -> queue.enqueue(1));
        other.start();
        queue.enqueue(2);
        other.join();
        int a = queue.dequeue();
        int b = queue.dequeue();
        assert a + b == 3;
        assert queue.dequeue() == -1;
    }
}
