// truth: unsafe
// why: the number is given back before the account is changed.
// source: own
public class LockTableReleasesTooEarly {
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

    static final LockTableReleasesTooEarly locks = new LockTableReleasesTooEarly();
    static volatile int account;

    static void add(int amount) {
        try {
            locks.acquire(1);
            int seen = account;
            locks.release(1);
            account = seen + amount;
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
