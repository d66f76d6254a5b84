// truth: unsafe
// why: two threads may see false before either sets the flag.
// source: own
import java.util.concurrent.atomic.AtomicBoolean;

public class SpinLockTestThenSet {
    private final AtomicBoolean held = new AtomicBoolean();
    private int inside;

    void lock() {
        while (held.get()) {
            Thread.onSpinWait();
        }
        held.set(true);
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
        SpinLockTestThenSet spin = new SpinLockTestThenSet();
        Thread other = new Thread(() -> spin.enter());
        other.start();
        spin.enter();
        other.join();
    }
}
