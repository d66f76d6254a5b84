// truth: safe
// why: the worker sleeps until it is interrupted, and says that it has stopped.
// source: own
public class InterruptedWorker {
    static volatile boolean stopped;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> {
            try {
                while (!Thread.currentThread().isInterrupted()) {
                    Thread.sleep(100);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            stopped = true;
        });
        worker.start();
        worker.interrupt();
        worker.join();
        assert stopped;
    }
}
