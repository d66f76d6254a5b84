// truth: safe
// why: the instance is made under the lock of the class: there is one.
// source: own
public class LazyUnderLock {
    static LazyUnderLock instance;
    final int id = 1;

    static synchronized LazyUnderLock get() {
        if (instance == null) {
            instance = new LazyUnderLock();
        }
        return instance;
    }

    public static void main(String[] args) throws InterruptedException {
        LazyUnderLock[] got = new LazyUnderLock[2];
        Thread a = new Thread(() -> { got[0] = get(); });
        Thread b = new Thread(() -> { got[1] = get(); });
        a.start();
        b.start();
        a.join();
        b.join();
        assert got[0] == got[1] && got[0].id == 1;
    }
}
