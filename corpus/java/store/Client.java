import java.util.Random;

/** Threads that use a store, for a trial run. */
class Client extends Thread {
    public void run() {
        Random random = new Random();
        for (int k = 0; k < 10; k++) {
            int file = random.nextInt(5);
            int status = Store.create(Config.ROOT, file);
            assert status >= Config.OK && status <= Config.BAD;
            Log.say("created " + file + ": " + status);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Client a = new Client();
        Client b = new Client();
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println("done " + Statistics.total());
    }
}
