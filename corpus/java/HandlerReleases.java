// truth: safe
// why: the lock is given back in finally, whatever is thrown.
// source: own
import java.util.concurrent.locks.ReentrantLock;

public class HandlerReleases {
    static final ReentrantLock lock = new ReentrantLock();
    static int balance = 1;

    static void withdraw(int amount) {
        lock.lock();
        try {
            if (balance < amount) {
                throw new IllegalStateException("too little");
            }
            balance -= amount;
        } finally {
            lock.unlock();
        }
    }

    static void attempt() {
        try {
            withdraw(1);
        } catch (IllegalStateException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> attempt());
        Thread b = new Thread(() -> attempt());
        a.start();
        b.start();
        a.join();
        b.join();
        assert balance == 0;
    }
}
