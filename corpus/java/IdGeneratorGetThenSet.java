// truth: unsafe
// why: both clients may get the same number before either sets the next.
// source: own
import java.util.concurrent.atomic.AtomicLong;

public class IdGeneratorGetThenSet {
    private static final AtomicLong last = new AtomicLong();

    static class Client extends Thread {
        long id;

        @Override
        public void run() {
            id = last.get() + 1;
            last.set(id);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Client a = new Client();
        Client b = new Client();
        a.start();
        b.start();
        a.join();
        b.join();
        assert a.id != b.id;
    }
}
