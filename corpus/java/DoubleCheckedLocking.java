// truth: safe
// why: the field is volatile: who sees the helper sees what its constructor wrote, and only one is made.
// source: own
public class DoubleCheckedLocking {
    static class Helper {
        int value = 42;
    }

    private volatile Helper helper;

    Helper get() {
        Helper seen = helper;
        if (seen == null) {
            synchronized (this) {
                seen = helper;
                if (seen == null) {
                    seen = new Helper();
                    helper = seen;
                }
            }
        }
        return seen;
    }

    public static void main(String[] args) throws InterruptedException {
        DoubleCheckedLocking lazy = new DoubleCheckedLocking();
        Thread other = new Thread(() -> {
            assert lazy.get().value == 42;
        });
        other.start();
        assert lazy.get().value == 42;
        other.join();
    }
}
