// truth: safe
// why: the last of two parties lets the other one go on.
// source: own
public class MonitorBarrier {
    private int missing = 2;
    static final int[] cells = new int[2];

    synchronized void arrive() throws InterruptedException {
        missing--;
        if (missing <= 0) {
            notifyAll();
        }
        while (missing > 0) {
            wait();
        }
    }

    static void party(MonitorBarrier barrier, int own) {
        try {
            cells[own] = 1;
            barrier.arrive();
            assert cells[1 - own] == 1;
        } catch (InterruptedException e) {
            throw new IllegalStateException();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        MonitorBarrier barrier = new MonitorBarrier();
        Thread a = new Thread(() -> party(barrier, 0));
        Thread b = new Thread(() -> party(barrier, 1));
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
