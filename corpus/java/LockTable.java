// truth: safe
// why: a table of monitors by number; the holder of a number changes its account alone.
// source: own
public class LockTable {
    private final boolean[] taken = new boolean[2];

    synchronized void acquire(int number) throws InterruptedException {
        while (taken[number]) {
            wait();
        }
        taken[number] = true;
    }

    synchronized void release(int number) {
        taken[number] = false;
        notifyAll();
    }

    static final LockTable locks = new LockTable();
    static volatile int account;

    static void add(int amount) {
        try {
            locks.acquire(1);
            account = account + amount;
            locks.release(1);
        } catch (InterruptedException e) {
            return;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> add(1));
        Thread b = new Thread(() -> add(2));
        a.start();
        b.start();
        a.join();
        b.join();
        assert account == 3;
    }
}
