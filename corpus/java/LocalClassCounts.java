// truth: unsafe
// why: objects of a class in a body share the array that they keep, and add to it without a lock.
// source: own
public class LocalClassCounts {
    public static void main(String[] args) throws InterruptedException {
        int[] total = new int[1];
        int step = 2;
        class Adder implements Runnable {
            private final int times;

            Adder(int times) {
                this.times = times;
            }

            @Override
            public void run() {
                for (int i = 0; i < times; i++) {
                    total[0] += step;
                }
            }
        }
        Thread a = new Thread(new Adder(1));
        Thread b = new Thread(new Adder(1));
        a.start();
        b.start();
        a.join();
        b.join();
        assert total[0] == 4;
    }
}
