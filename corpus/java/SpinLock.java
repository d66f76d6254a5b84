// truth: safe
// why: getAndSet gives false to one thread only until it is set back.
// source: own
import java.util.concurrent.atomic.AtomicBoolean;

public class SpinLock {
    private final AtomicBoolean held = new AtomicBoolean();
    private int inside;

    void lock() {
        while (held.getAndSet(true)) {
            Thread.onSpinWait();
        }
    }

    void unlock() {
        held.set(false);
    }

    void enter() {
        lock();
        inside++;
        assert inside == 1;
        inside--;
        unlock();
    }

    public static void main(String[] args) throws InterruptedException {
        SpinLock spin = new SpinLock();
        Thread other = new Thread(() -> spin.enter());
        other.start();
        spin.enter();
        other.join();
    }
}
