// truth: unsafe
// why: the handler forgets the interruption, and the worker waits again for what nobody tells it.
// source: own
public class SwallowsInterrupt {
    private static final Object monitor = new Object();

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                synchronized (monitor) {
                    try {
                        monitor.wait();
                    } catch (InterruptedException e) {
                        System.out.println("interrupted: " + e.getMessage());
                    }
                }
            }
        });
        worker.start();
        worker.interrupt();
        worker.join();
    }
}
