// truth: safe
// why: incrementAndGet gives each caller a number of its own.
// source: own
import java.util.concurrent.atomic.AtomicLong;

public class IdGenerator {
    private static final long START = 0x7fffffffL;
    private static final AtomicLong last = new AtomicLong(START);

    static class Client extends Thread {
        long id;

        @Override
        public void run() {
            id = last.incrementAndGet();
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
        assert a.id + b.id == 2 * START + 3;
    }
}
