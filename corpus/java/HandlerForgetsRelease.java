// truth: unsafe
// why: an exception leaves the lock taken; the handler does not give it back, and the other thread waits for ever.
// source: own
import java.util.concurrent.locks.ReentrantLock;

public class HandlerForgetsRelease {
    static final ReentrantLock lock = new ReentrantLock();
    static int balance = 1;

    static void withdraw(int amount) {
        lock.lock();
        if (balance < amount) {
            throw new IllegalStateException("too little");
        }
        balance -= amount;
        lock.unlock();
        withdrawn();
    }

    static void withdrawn() {
        lock.lock();
        try {
            if (balance == 0) {
                return;
            }
            throw new IllegalStateException("left over");
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
