/** The table of inodes. */
class Inodes {
    /*@ guarded_by[i] LockTable.inodeHolder[i] == 0 || LockTable.inodeHolder[i] == \tid */
    static final int[] kind = new int[Const.INODES];
    /*@ guarded_by[i] LockTable.inodeHolder[i] == 0 || LockTable.inodeHolder[i] == \tid */
    static final int[] size = new int[Const.INODES];
    /*@ guarded_by[i] LockTable.inodeHolder[i] == 0 || LockTable.inodeHolder[i] == \tid */
    static final int[] links = new int[Const.INODES];
    /*@ guarded_by[i][j] LockTable.inodeHolder[i] == 0 || LockTable.inodeHolder[i] == \tid */
    static final int[][] map = new int[Const.INODES][Const.DIRECT];

    /*@ requires 0 <= n && n < Const.INODES && LockTable.inodeHolder[n] == \tid
        performs action "get" () {
            \result != null && \result.number == n && \result.kind == kind[n] &&
            \result.size == size[n] && \result.links == links[n] }
     */
    static Inode get(int n) {
        Inode result = new Inode(n);
        result.kind = kind[n];
        result.size = size[n];
        result.links = links[n];
        return result;
    }

    /*@ requires inode != null && 0 <= inode.number && inode.number < Const.INODES
        requires LockTable.inodeHolder[inode.number] == \tid
        performs action "put" (kind[inode.number], size[inode.number], links[inode.number]) {
            kind[inode.number] == inode.kind && size[inode.number] == inode.size && links[inode.number] == inode.links }
     */
    static void put(Inode inode) {
        kind[inode.number] = inode.kind;
        size[inode.number] = inode.size;
        links[inode.number] = inode.links;
    }

    /*@ performs action "NoInodes" () { \result == -1 }
        [] action "Created" (kind[\result], size[\result], links[\result], map[\result][*], LockTable.inodeHolder[\result]) {
               0 <= \result && \result < Const.INODES &&
               \old(LockTable.inodeHolder[\result]) == 0 && LockTable.inodeHolder[\result] == \tid &&
               \old(kind[\result]) == Const.FREE && kind[\result] == wanted && size[\result] == 0 && links[\result] == 1 &&
               (\forall int j; 0 <= j && j < Const.DIRECT ==> map[\result][j] == -1) }
     */
    public static int create(int wanted) {
        for (int i = 0; i < Const.INODES; i++) {
            LockTable.lockInode(i);
            if (kind[i] == Const.FREE) {
                kind[i] = wanted;
                size[i] = 0;
                links[i] = 1;
                for (int j = 0; j < Const.DIRECT; j++) {
                    map[i][j] = -1;
                }
                //@ set \witness = "Created"
                return i;
            }
            LockTable.unlockInode(i);
        }
        //@ set \witness = "NoInodes"
        return -1;
    }

    /*@ requires 0 <= n && n < Const.INODES && LockTable.inodeHolder[n] == \tid && links[n] == 0
        performs action "freed" (kind[n], size[n]) { kind[n] == Const.FREE && size[n] == 0 } */
    static void release(int n) {
        kind[n] = Const.FREE;
        size[n] = 0;
    }

    /*@ requires 0 <= n && n < Const.INODES && 0 <= j && j < Const.DIRECT && LockTable.inodeHolder[n] == \tid
        performs action "hasBlock" () { \result == map[n][j] && 0 <= \result && \result < Const.BLOCKS }
        [] action "noSpace" () { \result == -1 }
        [] action "newBlock" (map[n][j], Blocks.used[\result], Blocks.owner[\result], Disk.image[\result][*]) {
               \result == map[n][j] && 0 <= \result && \result < Const.BLOCKS && \old(LockTable.blockHolder[\result]) == 0 &&
               Blocks.used[\result] && Blocks.owner[\result] == n && !\old(Blocks.used[\result]) &&
               (\forall int k; 0 <= k && k < Const.BLOCKSIZE ==> Disk.image[\result][k] == 0) }
     */
    static int blockFor(int n, int j) {
        int b = map[n][j];
        if (b >= 0 && b < Const.BLOCKS) {
            //@ set \witness = "hasBlock"
            return b;
        }
        b = Blocks.alloc(n);
        if (b == -1) {
            //@ set \witness = "noSpace"
            return -1;
        }
        Disk.zero(b);
        map[n][j] = b;
        LockTable.unlockBlock(b);
        //@ set \witness = "newBlock"
        return b;
    }
}
