// truth: safe
// why: the reader looks at the flag under the monitor before it waits, and again after.
// source: own
public class FutureCell {
    private boolean done;
    private int value;

    synchronized void set(int v) {
        value = v;
        done = true;
        notifyAll();
    }

    synchronized int get() throws InterruptedException {
        while (!done) {
            wait();
        }
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        FutureCell cell = new FutureCell();
        Thread writer = new Thread(() -> cell.set(5));
        writer.start();
        int got = cell.get();
        writer.join();
        assert got == 5;
    }
}
