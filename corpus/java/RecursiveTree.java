// truth: safe
// why: each thread sums its own half; the halves are joined before they are added.
// source: own
public class RecursiveTree {
    static final int[] values = { 1, 2, 3, 4 };
    static int total;
    static final Object guard = new Object();

    static int sum(int from, int to) {
        if (from == to) {
            return 0;
        }
        return values[from] + sum(from + 1, to);
    }

    static void half(int from, int to) {
        int own = sum(from, to);
        synchronized (guard) {
            total += own;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> half(0, 2));
        Thread b = new Thread(() -> half(2, 4));
        a.start();
        b.start();
        a.join();
        b.join();
        assert total == 10;
    }
}
