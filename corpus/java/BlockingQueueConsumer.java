// truth: safe
// why: the queue hands the items over in order, and a pill ends the consumer.
// source: own
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

public class BlockingQueueConsumer {
    private static final int PILL = -1;

    static class Producer implements Runnable {
        private final BlockingQueue<Integer> queue;

        Producer(BlockingQueue<Integer> queue) {
            this.queue = queue;
        }

        @Override
        public void run() {
            try {
                for (int i = 1; i <= 2; i++) {
                    queue.put(i);
                }
                queue.put(PILL);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static class Consumer implements Runnable {
        private final BlockingQueue<Integer> queue;
        int sum;

        Consumer(BlockingQueue<Integer> queue) {
            this.queue = queue;
        }

        @Override
        public void run() {
            try {
                while (true) {
                    int next = queue.take();
                    if (next == PILL) {
                        break;
                    }
                    sum += next;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        Consumer consumer = new Consumer(queue);
        Thread a = new Thread(new Producer(queue), "producer");
        Thread b = new Thread(consumer, "consumer");
        a.start();
        b.start();
        a.join();
        b.join();
        assert consumer.sum == 3;
    }
}
