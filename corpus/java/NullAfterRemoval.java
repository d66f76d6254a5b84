// truth: unsafe
// why: between the look and the use another thread may set the field to null.
// source: own
public class NullAfterRemoval {
    static class Session {
        int hits;
    }

    static volatile Session current = new Session();

    public static void main(String[] args) throws InterruptedException {
        Thread closer = new Thread(() -> {
            current = null;
        });
        closer.start();
        if (current != null) {
            int seen = current.hits;
        }
        closer.join();
    }
}
