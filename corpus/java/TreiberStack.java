// truth: safe
// why: each successful compareAndSet takes one node, so two pops take both, and the third finds nothing.
// source: own
import java.util.concurrent.atomic.AtomicReference;

public class TreiberStack {
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
            if (top.compareAndSet(old, next)) {
                return old.value;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        TreiberStack stack = new TreiberStack();
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
