// truth: unsafe
// why: both threads add into one plain field.
// source: own
public class RecursiveTreeRaces {
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
        total += own;
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
