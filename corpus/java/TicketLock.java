// truth: safe
// why: tickets are served one after the other.
// source: own
import java.util.concurrent.atomic.AtomicInteger;

public class TicketLock {
    static final AtomicInteger next = new AtomicInteger();
    static volatile int serving;
    static int count;

    static void increment() {
        int ticket = next.getAndIncrement();
        while (serving != ticket) {
            Thread.onSpinWait();
        }
        count++;
        serving = ticket + 1;
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
