// truth: unsafe
// why: the two transfers lock the accounts in opposite order.
// source: own
public class BankTransferDeadlock {
    static class Account {
        final int id;
        int balance;

        Account(int id, int balance) {
            this.id = id;
            this.balance = balance;
        }
    }

    static void transfer(Account from, Account to, int amount) {
        Account first = from;
        Account second = to;
        synchronized (first) {
            synchronized (second) {
                if (from.balance >= amount) {
                    from.balance -= amount;
                    to.balance += amount;
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Account a = new Account(1, 10);
        Account b = new Account(2, 10);
        Thread there = new Thread(() -> transfer(a, b, 5));
        Thread back = new Thread(() -> transfer(b, a, 3));
        there.start();
        back.start();
        there.join();
        back.join();
        assert a.balance + b.balance == 20;
        assert a.balance == 8;
    }
}
