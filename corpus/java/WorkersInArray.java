// truth: safe
// why: every worker adds its own index once; main waits for all of them.
// source: own
public class WorkersInArray {
    static int total;

    static synchronized void add(int n) {
        total += n;
    }

    static class Worker implements Runnable {
        private final int index;

        Worker(int index) {
            this.index = index;
        }

        public void run() {
            add(index);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] workers = new Thread[3];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(new Worker(i + 1));
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        synchronized (WorkersInArray.class) {
            assert total == 6;
        }
    }
}
