/** Directories: an entry is a name, given as a number, and an inode. */
class Directory {
    //@ guarded_by[d][e] LockTable.inodeHolder[d] == 0 || LockTable.inodeHolder[d] == \tid
    static final int[][] names = new int[Const.INODES][Const.DIRECT];
    //@ guarded_by[d][e] LockTable.inodeHolder[d] == 0 || LockTable.inodeHolder[d] == \tid
    static final int[][] inodes = new int[Const.INODES][Const.DIRECT];

    /*@ requires 0 <= d && d < Const.INODES && LockTable.inodeHolder[d] == \tid && name != 0
        performs action "absent" () { \result == -1 && (\forall int e; 0 <= e && e < Const.DIRECT ==> names[d][e] != name) }
        [] action "present" () { 0 <= \result && \result < Const.DIRECT && names[d][\result] == name }
     */
    static int find(int d, int name) {
        for (int e = 0; e < Const.DIRECT; e++) {
            if (names[d][e] == name) {
                //@ set \witness = "present"
                return e;
            }
        }
        //@ set \witness = "absent"
        return -1;
    }

    /*@ requires 0 <= d && d < Const.INODES && LockTable.inodeHolder[d] == \tid && name != 0
        performs action "full" () { !\result }
        [] (action "entered" (names[d][*], inodes[d][*]) {
            \result && (\exists int e; 0 <= e && e < Const.DIRECT && \old(names[d][e]) == 0 && names[d][e] == name && inodes[d][e] == inode) })
     */
    static boolean enter(int d, int name, int inode) {
        int e = 0;
        while (e < Const.DIRECT && names[d][e] != 0) {
            e++;
        }
        if (e == Const.DIRECT) {
            return false;
        }
        names[d][e] = name;
        inodes[d][e] = inode;
        return true;
    }

    /*@ requires 0 <= d && d < Const.INODES && name != 0
        performs action "noEntry" () { \result == -1 && \old(LockTable.inodeHolder[d]) == 0 }
        [] action "entry" () { \old(LockTable.inodeHolder[d]) == 0 &&
               (\exists int e; 0 <= e && e < Const.DIRECT && names[d][e] == name && inodes[d][e] == \result) }
     */
    public static int lookup(int d, int name) {
        LockTable.lockInode(d);
        int e = find(d, name);
        int inode = -1;
        if (e != -1) {
            inode = inodes[d][e];
            //@ set \witness = "entry"
        } else {
            //@ set \witness = "noEntry"
        }
        LockTable.unlockInode(d);
        return inode;
    }
}
