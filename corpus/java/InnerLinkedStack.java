// truth: safe
// why: the nodes of a stack for any items are changed under its monitor.
// source: own
public class InnerLinkedStack<T> {
    private class Node {
        final T item;
        Node next;

        Node(T item) {
            this.item = item;
            next = top;
            size++;
        }
    }

    private Node top;
    private int size;

    synchronized void push(T item) {
        top = new Node(item);
    }

    synchronized T pop() {
        if (top == null) {
            return null;
        }
        T item = top.item;
        top = top.next;
        size--;
        return item;
    }

    public static void main(String[] args) throws InterruptedException {
        InnerLinkedStack<String> words = new InnerLinkedStack<>();
        InnerLinkedStack<Integer> numbers = new InnerLinkedStack<>();
        Thread t = new Thread(() -> {
            words.push("a");
            numbers.push(1);
        });
        t.start();
        numbers.push(2);
        t.join();
        assert numbers.pop() + numbers.pop() == 3;
        assert numbers.pop() == null;
        assert words.pop() != null && words.size == 0;
    }
}
