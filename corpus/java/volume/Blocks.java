/** The allocator of blocks. */
class Blocks {
    //@ guarded_by[b] LockTable.blockHolder[b] == 0 || LockTable.blockHolder[b] == \tid
    static final boolean[] used = new boolean[Const.BLOCKS];
    //@ guarded_by[b] LockTable.blockHolder[b] == 0 || LockTable.blockHolder[b] == \tid
    static final int[] owner = new int[Const.BLOCKS];

    /*@ performs action "NoBlocks" () { \result == -1 }
        [] action "Allocated" (used[\result], owner[\result], LockTable.blockHolder[\result]) {
               0 <= \result && \result < Const.BLOCKS &&
               \old(LockTable.blockHolder[\result]) == 0 && LockTable.blockHolder[\result] == \tid &&
               !\old(used[\result]) && used[\result] && owner[\result] == forInode }
     */
    public static int alloc(int forInode) {
        for (int i = 0; i < Const.BLOCKS; i++) {
            LockTable.lockBlock(i);
            if (!used[i]) {
                used[i] = true;
                owner[i] = forInode;
                //@ set \witness = "Allocated"
                return i;
            }
            LockTable.unlockBlock(i);
        }
        //@ set \witness = "NoBlocks"
        return -1;
    }

    /*@ requires 0 <= b && b < Const.BLOCKS && LockTable.blockHolder[b] == \tid
        performs action "Freed" (used[b], LockTable.blockHolder[b]) { !used[b] && LockTable.blockHolder[b] == 0 }
     */
    public static void free(int b) {
        used[b] = false;
        LockTable.unlockBlock(b);
        //@ set \witness = "Freed"
    }

    /** How many blocks are free; others may change that while we count. */
    /*@ performs (action "iter" () { true } [] action "iter2" () { true })*; action "done" () { 0 <= \result } */
    public static int countFree() {
        int n = 0;
        for (int i = 0; i < Const.BLOCKS; i++) {
            LockTable.lockBlock(i);
            if (!used[i]) {
                n++;
                //@ set \witness = "iter"
            } else {
                //@ set \witness = "iter2"
            }
            LockTable.unlockBlock(i);
        }
        //@ set \witness = "done"
        return n;
    }
}
