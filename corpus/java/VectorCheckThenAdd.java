// truth: unsafe
// why: each call is atomic, the two together are not: both threads may find the vector empty.
// source: own
import java.util.Vector;

public class VectorCheckThenAdd {
    static final Vector<Integer> items = new Vector<>();

    static void addOnce() {
        if (items.isEmpty()) {
            items.add(7);
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
