// truth: unsafe
// why: each thread may hold one fork and wait for the other one.
// source: own
public class ForksInOppositeOrder {
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
        Thread kant = new Thread(() -> eat(right, left));
        plato.start();
        kant.start();
        plato.join();
        kant.join();
        assert meals == 2;
    }
}
