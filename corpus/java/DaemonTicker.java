// truth: safe
// why: the daemon only reads, and the program does not wait for it.
// source: own
public class DaemonTicker {
    private static volatile boolean ready;
    private static int value;

    public static void main(String[] args) throws InterruptedException {
        Thread watcher = new Thread(() -> {
            while (!ready) {
                Thread.yield();
            }
            assert value == 7;
        });
        watcher.setDaemon(true);
        watcher.start();
        value = 7;
        ready = true;
    }
}
