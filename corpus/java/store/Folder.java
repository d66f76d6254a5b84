/** Entries of folders: names are numbers; an entry belongs to who has the lock of the folder's inode. */
class Folder {
    /*@ guarded_by[d][e] Locks.inodeOwner[d] == 0 || Locks.inodeOwner[d] == \tid */
    static final int[][] name = new int[Config.INODES][Config.ENTRIES];
    /*@ guarded_by[d][e] Locks.inodeOwner[d] == 0 || Locks.inodeOwner[d] == \tid */
    static final int[][] target = new int[Config.INODES][Config.ENTRIES];
    /*@ guarded_by[d] Locks.inodeOwner[d] == 0 || Locks.inodeOwner[d] == \tid */
    static final int[] count = new int[Config.INODES];

    /** Where a name stands in a folder. */
    /*@ requires 0 <= d && d < Config.INODES && Locks.inodeOwner[d] == \tid;
      @ performs action "Absent" () { \result == Config.NONE }
      @ [] action "Found" () { 0 <= \result && \result < count[d] && \result < Config.ENTRIES && name[d][\result] == wanted }
      @*/
    static int find(int d, int wanted) {
        for (int e = 0; e < count[d] && e < Config.ENTRIES; e++) {
            if (name[d][e] == wanted) {
                //@ witness "Found"
                return e;
            }
        }
        //@ witness "Absent"
        return Config.NONE;
    }

    /** A new entry at the end; false if there is no room. */
    /*@ requires 0 <= d && d < Config.INODES && Locks.inodeOwner[d] == \tid && 0 <= count[d];
      @ performs action "NoRoom" () { !\result && \old(count[d]) >= Config.ENTRIES }
      @ [] action "Added" (name[d][\old(count[d])], target[d][\old(count[d])], count[d]) {
      @      \result && \old(count[d]) < Config.ENTRIES && count[d] == \old(count[d]) + 1
      @      && name[d][\old(count[d])] == what && target[d][\old(count[d])] == inode }
      @*/
    static boolean add(int d, int what, int inode) {
        int at = count[d];
        if (at >= Config.ENTRIES) {
            //@ witness "NoRoom"
            return false;
        }
        name[d][at] = what;
        target[d][at] = inode;
        count[d] = at + 1;
        //@ witness "Added"
        return true;
    }

    /** The last entry takes the place of the one that goes. */
    /*@ requires 0 <= d && d < Config.INODES && Locks.inodeOwner[d] == \tid;
      @ requires 0 <= e && e < count[d] && count[d] <= Config.ENTRIES;
      @ performs action "Removed" (name[d][e], target[d][e], count[d]) {
      @    count[d] == \old(count[d]) - 1
      @    && name[d][e] == \old(name[d][count[d] - 1]) && target[d][e] == \old(target[d][count[d] - 1]) }
      @*/
    static void remove(int d, int e) {
        int last = count[d] - 1;
        name[d][e] = name[d][last];
        target[d][e] = target[d][last];
        count[d] = last;
    }

    /** Looks a name up in a folder whose lock is free. */
    /*@ requires 0 <= d && d < Config.INODES;
      @ performs action "Missing" () { \old(Locks.inodeOwner[d]) == 0 && \result == Config.NONE }
      @ [] action "Seen" () { \old(Locks.inodeOwner[d]) == 0
      @      && (\exists int e; 0 <= e && e < Config.ENTRIES && name[d][e] == wanted && target[d][e] == \result) }
      @*/
    public static int lookup(int d, int wanted) {
        int inode = Config.NONE;
        Locks.takeInode(d);
        int at = find(d, wanted);
        if (at != Config.NONE) {
            inode = target[d][at];
            Locks.giveInode(d);
            //@ witness "Seen"
            return inode;
        }
        Locks.giveInode(d);
        //@ witness "Missing"
        return inode;
    }
}
