// truth: unsafe
// why: the barrier opens for the first party: the other one has not written yet.
// source: own
public class MonitorBarrierOnePartyShort {
    private int missing = 1;
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

    static void party(MonitorBarrierOnePartyShort barrier, int own) {
        try {
            cells[own] = 1;
            barrier.arrive();
            assert cells[1 - own] == 1;
        } catch (InterruptedException e) {
            throw new IllegalStateException();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        MonitorBarrierOnePartyShort barrier = new MonitorBarrierOnePartyShort();
        Thread a = new Thread(() -> party(barrier, 0));
        Thread b = new Thread(() -> party(barrier, 1));
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
