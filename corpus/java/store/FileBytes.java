/** Ranges of bytes of one file; the caller has the lock of its inode. */
class FileBytes {
    /** Reads bytes of one block into an array of the caller. */
    /*@ requires 0 <= b && b < Config.BLOCKS && 0 <= from && 0 <= n && from <= Config.BLOCK_SIZE - n;
      @ requires to != null && n <= to.length && Locks.blockOwner[b] == \tid;
      @ performs action "ReadBlock" (to[*]) {
      @    (\forall int k; 0 <= k && k < n ==> to[k] == Disk.data[b][from + k]) }
      @*/
    static void readBlock(int b, int from, int n, /*@ thread_local */ byte[] to) {
        for (int k = 0; k < n; k++) {
            to[k] = Disk.data[b][from + k];
        }
    }

    /** Writes bytes of an array of the caller into one block. */
    /*@ requires 0 <= b && b < Config.BLOCKS && 0 <= at && 0 <= n && at <= Config.BLOCK_SIZE - n;
      @ requires from != null && n <= from.length && Locks.blockOwner[b] == \tid;
      @ performs action "WriteBlock" (Disk.data[b][*]) {
      @    (\forall int k; 0 <= k && k < n ==> Disk.data[b][at + k] == from[k])
      @    && (\forall int k; k < at || at + n <= k ==> Disk.data[b][k] == \old(Disk.data[b][k])) }
      @*/
    static void writeBlock(int b, int at, int n, /*@ thread_local */ byte[] from) {
        for (int k = 0; k < n; k++) {
            Disk.data[b][at + k] = from[k];
        }
    }

    /** One byte of a file: its block is looked up, locked and read. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ requires 0 <= offset && offset < Config.BLOCK_SIZE;
      @ requires 0 <= Inodes.block[i][0] && Inodes.block[i][0] < Config.BLOCKS;
      @ performs action "ReadByte" () {
      @    \old(Locks.blockOwner[Inodes.block[i][0]]) == 0 && \result == Disk.data[Inodes.block[i][0]][offset] }
      @*/
    static byte readByte(int i, int offset) {
        int b = Inodes.block[i][0];
        Locks.takeBlock(b);
        byte value = Disk.get(b, offset);
        Locks.giveBlock(b);
        return value;
    }

    /** One byte of a file. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ requires 0 <= offset && offset < Config.BLOCK_SIZE;
      @ requires 0 <= Inodes.block[i][0] && Inodes.block[i][0] < Config.BLOCKS;
      @ performs action "WriteByte" (Disk.data[Inodes.block[i][0]][offset], Inodes.size[i]) {
      @    \old(Locks.blockOwner[Inodes.block[i][0]]) == 0 && Disk.data[Inodes.block[i][0]][offset] == value
      @    && Inodes.size[i] == (\old(Inodes.size[i]) <= offset ? offset + 1 : \old(Inodes.size[i])) }
      @*/
    static void writeByte(int i, int offset, byte value) {
        int b = Inodes.block[i][0];
        Locks.takeBlock(b);
        Disk.put(b, offset, value);
        Locks.giveBlock(b);
        if (Inodes.size[i] <= offset) {
            Inodes.size[i] = offset + 1;
        }
    }

    /** The first block of a file that has none yet. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid && Inodes.block[i][0] == Config.NONE;
      @ performs action "NoSpace" () { \result == Config.NONE }
      @ [] action "Attached" (Inodes.block[i][0], BlockMap.used[\result]) {
      @      0 <= \result && \result < Config.BLOCKS && \old(Locks.blockOwner[\result]) == 0
      @      && Inodes.block[i][0] == \result && !\old(BlockMap.used[\result]) && BlockMap.used[\result] }
      @*/
    static int attach(int i) {
        int b = BlockMap.alloc();
        if (b == Config.NONE) {
            //@ witness "NoSpace"
            return b;
        }
        Inodes.block[i][0] = b;
        Locks.giveBlock(b);
        //@ witness "Attached"
        return b;
    }
}
