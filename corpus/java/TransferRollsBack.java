// truth: safe
// why: a transfer that fails puts the money back before the exception leaves the monitor.
// source: own
public class TransferRollsBack {
    static class Full extends Exception {
        Full(String text) {
            super(text);
        }
    }

    private final int[] accounts = { 3, 3 };
    private static final int LIMIT = 4;

    synchronized void transfer(int from, int to, int amount) throws Full {
        accounts[from] -= amount;
        if (accounts[to] + amount > LIMIT) {
            accounts[from] += amount;
            throw new Full("no room in " + to);
        }
        accounts[to] += amount;
    }

    synchronized int total() {
        return accounts[0] + accounts[1];
    }

    static void attempt(TransferRollsBack bank, int from, int to, int amount) {
        try {
            bank.transfer(from, to, amount);
        } catch (Full e) {
            System.out.println(e.getMessage());
        }
    }

    public static void main(String[] args) throws InterruptedException {
        TransferRollsBack bank = new TransferRollsBack();
        Thread a = new Thread(() -> attempt(bank, 0, 1, 1));
        Thread b = new Thread(() -> attempt(bank, 0, 1, 1));
        a.start();
        b.start();
        a.join();
        b.join();
        assert bank.total() == 6;
    }
}
