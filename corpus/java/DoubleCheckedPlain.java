// truth: unsafe
// why: the first look at the plain field races with the write inside the monitor.
// source: own
public class DoubleCheckedPlain {
    static class Helper {
        int value = 42;
    }

    private Helper helper;

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
        DoubleCheckedPlain lazy = new DoubleCheckedPlain();
        Thread other = new Thread(() -> {
            assert lazy.get().value == 42;
        });
        other.start();
        assert lazy.get().value == 42;
        other.join();
    }
}
