/** What clients call. */
public class Volume {
    private static final boolean TRACE = false;

    /*@ helper */
    private static void trace(String what, int n) {
        if (TRACE) {
            System.out.println("volume: " + what + " " + n);
        }
    }

    /*@ requires 0 <= n && n < Const.INODES
        performs action "attr" () {
            \old(LockTable.inodeHolder[n]) == 0 && \result != null &&
            \result.size == Inodes.size[n] && \result.kind == Inodes.kind[n] && \result.status == Const.OK }
     */
    public static Attribute getAttributes(int n) {
        Attribute a = new Attribute();
        LockTable.lockInode(n);
        Inode inode = Inodes.get(n);
        a.size = inode.size;
        a.kind = inode.kind;
        LockTable.unlockInode(n);
        return a;
    }

    /*@ requires 0 <= n && n < Const.INODES && 0 <= size && size <= Const.MAXFILE
        performs action "resized" (Inodes.size[n]) { \old(LockTable.inodeHolder[n]) == 0 && Inodes.size[n] == size && \result == Const.OK }
        [] action "noFile" () { \old(LockTable.inodeHolder[n]) == 0 && Inodes.kind[n] != Const.FILE && \result == Const.ERR_BADHANDLE }
     */
    public static int setSize(int n, int size) {
        LockTable.lockInode(n);
        Inode inode = Inodes.get(n);
        switch (inode.kind) {
            case Const.FILE:
                inode.size = size;
                Inodes.put(inode);
                LockTable.unlockInode(n);
                //@ set \witness = "resized"
                return Const.OK;
            default:
                trace("not a file", n);
                LockTable.unlockInode(n);
                //@ set \witness = "noFile"
                return Const.ERR_BADHANDLE;
        }
    }

    /*@ requires 0 <= n && n < Const.INODES && 0 <= j && j < Const.DIRECT
        requires 0 <= at && at <= Const.BLOCKSIZE && 0 <= count && count <= Const.BLOCKSIZE && at + count <= Const.BLOCKSIZE
        requires count <= data.length
     */
    public static int writePart(int n, int j, int at, /*@ non_null */ /*@ thread_local */ byte[] data, int count) {
        LockTable.lockInode(n);
        int b = Inodes.blockFor(n, j);
        if (b == -1) {
            LockTable.unlockInode(n);
            return Const.ERR_NOSPACE;
        }
        LockTable.lockBlock(b);
        Disk.writeBlock(b, at, data, 0, count);
        LockTable.unlockBlock(b);
        Inode inode = Inodes.get(n);
        int end = j * Const.BLOCKSIZE + at + count;
        if (inode.size < end) {
            inode.size = end;
            Inodes.put(inode);
        }
        LockTable.unlockInode(n);
        return Const.OK;
    }

    /** Both files are locked, the one of the smaller number first. */
    /*@ requires 0 <= a && a < Const.INODES && 0 <= b && b < Const.INODES && a != b
        performs action "exchanged" (Inodes.map[a][*], Inodes.map[b][*], Inodes.size[a], Inodes.size[b]) {
            \old(LockTable.inodeHolder[a]) == 0 && \old(LockTable.inodeHolder[b]) == 0 &&
            Inodes.size[a] == \old(Inodes.size[b]) && Inodes.size[b] == \old(Inodes.size[a]) }
     */
    public static void exchange(int a, int b) {
        int first = a < b ? a : b;
        int second = a < b ? b : a;
        LockTable.lockInode(first);
        LockTable.lockInode(second);
        int size = Inodes.size[a];
        Inodes.size[a] = Inodes.size[b];
        Inodes.size[b] = size;
        for (int j = 0; j < Const.DIRECT; j++) {
            int block = Inodes.map[a][j];
            Inodes.map[a][j] = Inodes.map[b][j];
            Inodes.map[b][j] = block;
        }
        LockTable.unlockInode(second);
        LockTable.unlockInode(first);
    }

    /*@ requires 0 <= d && d < Const.INODES && name != 0 */
    public static int createFile(int d, int name) {
        LockTable.lockInode(d);
        if (Directory.find(d, name) != -1) {
            LockTable.unlockInode(d);
            return Const.ERR_EXISTS;
        }
        int n = Inodes.create(Const.FILE);
        if (n == -1) {
            LockTable.unlockInode(d);
            return Const.ERR_NOSPACE;
        }
        boolean entered = Directory.enter(d, name, n);
        if (!entered) {
            trace("directory full", d);
            Inode inode = Inodes.get(n);
            inode.links--;
            //@ assert inode.number == n
            inode.kind = Const.FREE;
            Inodes.put(inode);
        }
        LockTable.unlockInode(n);
        LockTable.unlockInode(d);
        return entered ? Const.OK : Const.ERR_NOSPACE;
    }

    /*@ requires name != 0
        performs action "noFile" () { \result == -1 }
        [] (action "looked" () { true }; (action "full" () { \result == -1 }
            [] action "opened" (OpenFiles.table[\result], OpenFiles.count) { 0 <= \result && \result < Const.OPEN && OpenFiles.table[\result] != null })) */
    public static int open(int name) {
        int n = Directory.lookup(Const.ROOT, name);
        if (n == -1) {
            //@ set \witness = "noFile"
            return -1;
        }
        OpenFile file = new OpenFile();
        int h = OpenFiles.add(file);
        return h;
    }
}
