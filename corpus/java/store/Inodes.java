/** The table of inodes; a row belongs to who has the lock of its number. */
class Inodes {
    static final int[] kind = new int[Config.INODES]; //@ guarded_by[i] Locks.inodeOwner[i] == 0 || Locks.inodeOwner[i] == \tid
    static final int[] size = new int[Config.INODES]; //@ guarded_by[i] Locks.inodeOwner[i] == 0 || Locks.inodeOwner[i] == \tid
    static final int[][] block = new int[Config.INODES][Config.SLOTS]; //@ guarded_by[i][s] Locks.inodeOwner[i] == 0 || Locks.inodeOwner[i] == \tid

    /** A copy of a row whose lock the caller holds. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ performs action "Load" () {
      @    \result != null && \result.number == i && \result.kind == kind[i]
      @    && \result.size == size[i] && \result.first == block[i][0] }
      @*/
    static Inode load(int i) {
        Inode copy = new Inode();
        copy.number = i;
        copy.kind = kind[i];
        copy.size = size[i];
        copy.first = block[i][0];
        return copy;
    }

    /** Writes a copy back. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ performs action "Save" (kind[i], size[i]) { kind[i] == from.kind && size[i] == from.size }
      @*/
    static void save(int i, /*@ non_null */ Inode from) {
        kind[i] = from.kind;
        size[i] = from.size;
    }

    /** No block belongs to the inode any more. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ performs action "Cleared" (block[i][*]) {
      @    (\forall int s; 0 <= s && s < Config.SLOTS ==> block[i][s] == Config.NONE) }
      @*/
    static void clear(int i) {
        for (int s = 0; s < Config.SLOTS; s++) {
            block[i][s] = Config.NONE;
        }
    }

    /** A row that was not in use becomes one of this kind, and its lock is the caller's. */
    /*@ performs action "NoInode": () { \result == Config.NONE }
      @ [] action "Made": (kind[\result], size[\result], block[\result][*], Locks.inodeOwner[\result]) {
      @      0 <= \result && \result < Config.INODES
      @      && \old(Locks.inodeOwner[\result]) == 0 && Locks.inodeOwner[\result] == \tid
      @      && \old(kind[\result]) == Config.UNUSED && kind[\result] == wanted && size[\result] == 0
      @      && (\forall int s; 0 <= s && s < Config.SLOTS ==> block[\result][s] == Config.NONE) }
      @*/
    public static int make(int wanted) {
        int i = 0;
        while (i < Config.INODES) {
            Locks.takeInode(i);
            if (kind[i] == Config.UNUSED) {
                kind[i] = wanted;
                size[i] = 0;
                clear(i);
                /*@ witness "Made" */
                return i;
            }
            Locks.giveInode(i);
            i++;
        }
        /*@ witness "NoInode" */
        return Config.NONE;
    }

    /** A row is not in use any more; its lock is free then. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid && kind[i] != Config.UNUSED;
      @ performs action "Dropped" (kind[i], size[i], Locks.inodeOwner[i]) {
      @    kind[i] == Config.UNUSED && size[i] == 0 && Locks.inodeOwner[i] == 0 } @*/
    public static void drop(int i) {
        kind[i] = Config.UNUSED;
        size[i] = 0;
        Locks.giveInode(i);
        return;
    }

    /** The size grows if it must. */
    /*@ requires 0 <= i && i < Config.INODES && Locks.inodeOwner[i] == \tid;
      @ modifies size[i];
      @ ensures size[i] >= least;
      @ ensures size[i] == \old(size[i]) || size[i] == least;
      @*/
    static void grow(int i, int least) {
        if (size[i] < least) {
            size[i] = least;
        }
    }
}
