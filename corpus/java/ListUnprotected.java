// truth: unsafe
// why: an ArrayList is not made for two threads: its additions race.
// source: own
import java.util.ArrayList;
import java.util.List;

public class ListUnprotected {
    static final List<Integer> log = new ArrayList<>();
    static final Object guard = new Object();

    static void record(int value) {
        log.add(value);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> record(1));
        Thread b = new Thread(() -> record(2));
        a.start();
        b.start();
        a.join();
        b.join();
        int sum = 0;
        for (int value : log) {
            sum += value;
        }
        assert sum == 3;
    }
}
