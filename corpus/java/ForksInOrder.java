// truth: safe
// why: both threads take the forks in one order, so no cycle of waiting arises, and each meal holds both.
// source: own
public class ForksInOrder {
    static final Object left = new Object();
    static final Object right = new Object();
    static int meals;

    static void eat(Object first, Object second) {
        synchronized (first) {
            synchronized (second) {
                meals++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread plato = new Thread(() -> eat(left, right));
        Thread kant = new Thread(() -> eat(left, right));
        plato.start();
        kant.start();
        plato.join();
        kant.join();
        assert meals == 2;
    }
}
