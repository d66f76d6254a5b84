// truth: unsafe
// why: three permits for two resources: the third thread may find none.
// source: own
import java.util.concurrent.Semaphore;

public class ResourcePoolTooMany {
    private final Semaphore free = new Semaphore(3);
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
        ResourcePoolTooMany pool = new ResourcePoolTooMany();
        Thread a = new Thread(() -> pool.work());
        Thread b = new Thread(() -> pool.work());
        a.start();
        b.start();
        pool.work();
        a.join();
        b.join();
    }
}
