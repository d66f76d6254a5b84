// truth: unsafe
// why: set overwrites the link of another enqueue, whose node is lost.
// source: own
import java.util.concurrent.atomic.AtomicReference;

public class MichaelScottPlainLink {
    static class Node {
        final int value;
        final AtomicReference<Node> next = new AtomicReference<>();

        Node(int value) {
            this.value = value;
        }
    }

    private final AtomicReference<Node> head = new AtomicReference<>();
    private final AtomicReference<Node> tail = new AtomicReference<>();

    MichaelScottPlainLink() {
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
                    last.next.set(node);
                    tail.compareAndSet(last, node);
                    return;
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
        MichaelScottPlainLink queue = new MichaelScottPlainLink();
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
