// truth: safe
// why: who does not get both locks in time gives the first one back.
// source: own
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

public class TryLockTransfer {
    static class Account {
        final Lock lock = new ReentrantLock();
        int balance;

        Account(int balance) {
            this.balance = balance;
        }
    }

    static boolean transfer(Account from, Account to, int amount) throws InterruptedException {
        if (from.lock.tryLock(50, TimeUnit.MILLISECONDS)) {
            try {
                if (to.lock.tryLock(50, TimeUnit.MILLISECONDS)) {
                    try {
                        from.balance -= amount;
                        to.balance += amount;
                        return true;
                    } finally {
                        to.lock.unlock();
                    }
                }
            } finally {
                from.lock.unlock();
            }
        }
        return false;
    }

    public static void main(String[] args) throws InterruptedException {
        final Account a = new Account(10);
        final Account b = new Account(10);
        Thread t = new Thread(new Runnable() {
            @Override
            public void run() {
                try {
                    transfer(a, b, 3);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        t.start();
        transfer(b, a, 5);
        t.join();
        assert a.balance + b.balance == 20;
    }
}
