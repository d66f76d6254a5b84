// truth: unsafe
// why: nothing orders the two increments: both may read 0.
// source: own
public class PlainCounter {
    private int value;

    void increment() {
        value++;
    }

    int get() {
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        PlainCounter counter = new PlainCounter();
        Thread left = new Thread(() -> counter.increment());
        Thread right = new Thread(() -> counter.increment());
        left.start();
        right.start();
        left.join();
        right.join();
        assert counter.get() == 2;
    }
}
