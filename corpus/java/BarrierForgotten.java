// truth: unsafe
// why: the second phase begins without waiting for the first one.
// source: own
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

public class BarrierForgotten {
    private final int[] cells = new int[2];
    private final int[] totals = new int[2];
    private final CyclicBarrier barrier = new CyclicBarrier(2);

    class Worker extends Thread {
        private final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            try {
                cells[id] = id + 1;
                totals[id] = cells[0] + cells[1];
            } catch (RuntimeException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    void go() throws InterruptedException {
        Worker a = new Worker(0);
        Worker b = new Worker(1);
        a.start();
        b.start();
        a.join();
        b.join();
        assert totals[0] == 3 && totals[1] == 3;
    }

    public static void main(String[] args) throws InterruptedException {
        new BarrierForgotten().go();
    }
}
