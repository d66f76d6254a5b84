// truth: safe
// why: a volatile flag publishes what was written before it.
// source: own
public class StopFlagVolatile {
    static volatile boolean ready;
    static int data;

    public static void main(String[] args) throws InterruptedException {
        Thread writer = new Thread(() -> {
            data = 42;
            ready = true;
        });
        writer.start();
        if (ready) {
            assert data == 42;
        }
        writer.join();
    }
}
