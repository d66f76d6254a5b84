// truth: unsafe
// why: another thread makes the number of copied elements larger than the array.
// source: own
public class CopyTooFar {
    static volatile int count = 2;

    public static void main(String[] args) {
        int[] from = new int[3];
        int[] to = new int[3];
        Thread t = new Thread(() -> count = 4);
        t.start();
        System.arraycopy(from, 0, to, 0, count);
    }
}
