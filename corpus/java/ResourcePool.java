// truth: safe
// why: no more threads have a permit than there are resources, so a free one is found.
// source: own
import java.util.concurrent.Semaphore;

public class ResourcePool {
    private final Semaphore free = new Semaphore(2);
    private final boolean[] used = new boolean[2];

    private synchronized int choose() {
        for (int i = 0; i < used.length; i++) {
            if (!used[i]) {
                used[i] = true;
                return i;
            }
        }
        return -1;
    }

    private synchronized void give(int i) {
        used[i] = false;
    }

    void work() {
        try {
            free.acquire();
        } catch (InterruptedException e) {
            return;
        }
        int mine = choose();
        assert mine >= 0;
        give(mine);
        free.release();
    }

    public static void main(String[] args) throws InterruptedException {
        ResourcePool pool = new ResourcePool();
        Thread a = new Thread(() -> pool.work());
        Thread b = new Thread(() -> pool.work());
        a.start();
        b.start();
        pool.work();
        a.join();
        b.join();
    }
}
