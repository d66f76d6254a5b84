// truth: unsafe
// why: main looks at the sum before the last worker may have added its part.
// source: own
public class WorkersNotJoined {
    static int total;

    static synchronized void add(int n) {
        total += n;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] workers = new Thread[2];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(() -> add(1));
            workers[i].start();
        }
        workers[0].join();
        synchronized (WorkersNotJoined.class) {
            assert total == 2;
        }
    }
}
