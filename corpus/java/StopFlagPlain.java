// truth: unsafe
// why: a plain flag races, and what it should publish does.
// source: own
public class StopFlagPlain {
    static boolean ready;
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
