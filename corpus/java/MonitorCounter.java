// truth: safe
// why: both increments hold the monitor of the counter, and main reads after it has joined both.
// source: own
public class MonitorCounter {
    private int value;

    synchronized void increment() {
        value++;
    }

    synchronized int get() {
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        MonitorCounter counter = new MonitorCounter();
        Thread left = new Thread(() -> counter.increment());
        Thread right = new Thread(() -> counter.increment());
        left.start();
        right.start();
        left.join();
        right.join();
        assert counter.get() == 2;
    }
}
