// truth: safe
// why: the test and the addition hold the monitor of the vector, which its methods take too.
// source: own
import java.util.Vector;

public class VectorAddIfAbsent {
    static final Vector<Integer> items = new Vector<>();

    static void addOnce() {
        synchronized (items) {
            if (items.isEmpty()) {
                items.add(7);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> addOnce());
        Thread b = new Thread(() -> addOnce());
        a.start();
        b.start();
        a.join();
        b.join();
        assert items.size() == 1;
    }
}
