/**
 * Locks for inodes and for blocks, by number. A lock may be waited for.
 * The bits are private; callers see only who holds a lock.
 */
class LockTable {
    //@ ghost public static int -> int inodeHolder accessible_if[i] inodeHolder[i] == 0 || inodeHolder[i] == \tid;
    //@ ghost public static int -> int blockHolder accessible_if[b] blockHolder[b] == 0 || blockHolder[b] == \tid;

    private static final Object monitor = new Object();

    private static final boolean[] inodeBusy = new boolean[Const.INODES]; //@ guarded_by[i] monitor
    private static final boolean[] blockBusy = new boolean[Const.BLOCKS]; //@ guarded_by[b] monitor

    //@ invariant (\forall int i; inodeBusy[i] <==> inodeHolder[i] != 0)
    //@ invariant (\forall int b; blockBusy[b] <==> blockHolder[b] != 0)

    /*@ requires 0 <= n && n < Const.INODES
        performs action "lockInode" (inodeHolder[n]) { \old(inodeHolder[n]) == 0 && inodeHolder[n] == \tid }
     */
    public static void lockInode(int n) {
        synchronized (monitor) {
            while (inodeBusy[n]) {
                try {
                    monitor.wait();
                } catch (InterruptedException e) {
                }
            }
            inodeBusy[n] = true;
            //@ set inodeHolder[n] = \tid
            //@ set \witness = "lockInode"
        }
    }

    /*@ requires 0 <= n && n < Const.INODES
        requires inodeHolder[n] == \tid
        performs action "unlockInode" (inodeHolder[n]) { inodeHolder[n] == 0 }
     */
    public static void unlockInode(int n) {
        synchronized (monitor) {
            inodeBusy[n] = false;
            //@ set inodeHolder[n] = 0
            monitor.notifyAll();
        }
    }

    /*@ requires 0 <= n && n < Const.BLOCKS
        performs action "lockBlock" (blockHolder[n]) { \old(blockHolder[n]) == 0 && blockHolder[n] == \tid }
     */
    public static void lockBlock(int n) {
        synchronized (monitor) {
            while (blockBusy[n]) {
                try {
                    monitor.wait();
                } catch (InterruptedException e) {
                }
            }
            blockBusy[n] = true;
            //@ set blockHolder[n] = \tid
        }
    }

    /*@ requires 0 <= n && n < Const.BLOCKS
        requires blockHolder[n] == \tid
        performs action "unlockBlock" (blockHolder[n]) { blockHolder[n] == 0 }
     */
    public static void unlockBlock(int n) {
        synchronized (monitor) {
            blockBusy[n] = false;
            //@ set blockHolder[n] = 0
            monitor.notifyAll();
        }
    }
}
