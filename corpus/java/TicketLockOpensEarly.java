// truth: unsafe
// why: the next ticket is called before the count is raised: two threads raise it at once.
// source: own
import java.util.concurrent.atomic.AtomicInteger;

public class TicketLockOpensEarly {
    static final AtomicInteger next = new AtomicInteger();
    static volatile int serving;
    static int count;

    static void increment() {
        int ticket = next.getAndIncrement();
        while (serving != ticket) {
            Thread.onSpinWait();
        }
        serving = ticket + 1;
        count++;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> increment());
        Thread b = new Thread(() -> increment());
        a.start();
        b.start();
        a.join();
        b.join();
        assert count == 2;
    }
}
