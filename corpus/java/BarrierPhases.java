// truth: safe
// why: nobody reads the sums of the first phase before all have written theirs.
// source: own
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

public class BarrierPhases {
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
                barrier.await();
                totals[id] = cells[0] + cells[1];
            } catch (InterruptedException | BrokenBarrierException e) {
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
        new BarrierPhases().go();
    }
}
