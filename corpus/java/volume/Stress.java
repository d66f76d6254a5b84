import java.util.Random;

/** Threads that try the volume. */
class Stress extends Thread {
    private final int me;

    Stress(int me) {
        this.me = me;
    }

    public void run() {
        Random random = new Random(me);
        byte[] data = new byte[16];
        for (int i = 0; i < 100; i++) {
            int name = 1 + random.nextInt(5);
            Volume.createFile(Const.ROOT, name);
            int h = Volume.open(name);
            System.out.println("thread " + me + " has " + h);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Stress[] all = new Stress[3];
        for (int i = 0; i < all.length; i++) {
            all[i] = new Stress(i);
            all[i].start();
        }
        for (int i = 0; i < all.length; i++) {
            all[i].join();
        }
    }
}
