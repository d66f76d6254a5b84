import java.util.Random;

/** Threads that use a store, for a trial run. */
class Client extends Thread {
    final int folder;

    Client(int folder) {
        this.folder = folder;
    }

    public void run() {
        Random random = new Random();
        for (int k = 0; k < 10; k++) {
            int name = random.nextInt(5);
            int status = Store.create(folder, name);
            assert status >= Config.OK && status <= Config.BAD;
            Log.say("created " + name + ": " + status);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Client a = new Client(0);
        Client b = new Client(0);
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println("done " + Statistics.total());
    }
}
