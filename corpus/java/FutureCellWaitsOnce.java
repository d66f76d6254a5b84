// truth: unsafe
// why: the reader waits without looking: a value that was set before wakes nobody.
// source: own
public class FutureCellWaitsOnce {
    private boolean done;
    private int value;

    synchronized void set(int v) {
        value = v;
        done = true;
        notifyAll();
    }

    synchronized int get() throws InterruptedException {
        wait();
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        FutureCellWaitsOnce cell = new FutureCellWaitsOnce();
        Thread writer = new Thread(() -> cell.set(5));
        writer.start();
        int got = cell.get();
        writer.join();
        assert got == 5;
    }
}
