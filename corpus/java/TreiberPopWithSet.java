// truth: unsafe
// why: set does not look whether the top is still the same, so two pops may take one node.
// source: own
import java.util.concurrent.atomic.AtomicReference;

public class TreiberPopWithSet {
    static class Node {
        final int value;
        Node next;

        Node(int value) {
            this.value = value;
        }
    }

    private final AtomicReference<Node> top = new AtomicReference<>();

    void push(int value) {
        Node node = new Node(value);
        Node old;
        do {
            old = top.get();
            node.next = old;
        } while (!top.compareAndSet(old, node));
    }

    int pop() {
        while (true) {
            Node old = top.get();
            if (old == null) {
                return -1;
            }
            Node next = old.next;
            top.set(next);
            return old.value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        TreiberPopWithSet stack = new TreiberPopWithSet();
        stack.push(1);
        stack.push(2);
        Thread other = new Thread(() -> {
            int got = stack.pop();
            assert got == 1 || got == 2;
        });
        other.start();
        int mine = stack.pop();
        other.join();
        int rest = stack.pop();
        assert mine != rest;
        assert rest == -1;
    }
}
