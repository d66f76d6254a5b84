// truth: unsafe
// why: two threads may each make an instance.
// source: own
public class LazyWithoutLock {
    static LazyWithoutLock instance;
    final int id = 1;

    static LazyWithoutLock get() {
        if (instance == null) {
            instance = new LazyWithoutLock();
        }
        return instance;
    }

    public static void main(String[] args) throws InterruptedException {
        LazyWithoutLock[] got = new LazyWithoutLock[2];
        Thread a = new Thread(() -> { got[0] = get(); });
        Thread b = new Thread(() -> { got[1] = get(); });
        a.start();
        b.start();
        a.join();
        b.join();
        assert got[0] == got[1] && got[0].id == 1;
    }
}
