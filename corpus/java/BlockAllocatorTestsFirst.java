// truth: unsafe
// why: the bit is looked at before its lock is taken.
// source: own
public class BlockAllocatorTestsFirst {
    static final int BLOCKS = 2;
    static final boolean[] used = new boolean[BLOCKS];
    static final Object all = new Object();

    static int allocate() {
        for (int i = 0; i < BLOCKS; i++) {
            boolean free;
            synchronized (all) {
                free = !used[i];
            }
            if (free) {
                synchronized (all) {
                    used[i] = true;
                }
                return i;
            }
        }
        return -1;
    }

    public static void main(String[] args) throws InterruptedException {
        int[] got = new int[2];
        Thread a = new Thread(() -> { got[0] = allocate(); });
        Thread b = new Thread(() -> { got[1] = allocate(); });
        a.start();
        b.start();
        a.join();
        b.join();
        assert got[0] != got[1];
        assert got[0] >= 0 && got[1] >= 0;
    }
}
