/** What clients call. */
public class Store {
    /** A new file in a folder. */
    /*@ requires 0 <= folder && folder < Config.INODES; @*/
    public static int create(int folder, int name) {
        Locks.takeInode(folder);
        if (Inodes.kind[folder] != Config.FOLDER || Folder.count[folder] < 0) {
            Locks.giveInode(folder);
            return Config.BAD;
        }
        int at = Folder.find(folder, name);
        if (at != Config.NONE) {
            Locks.giveInode(folder);
            return Config.EXISTS;
        }
        int i = Inodes.make(Config.REGULAR);
        if (i == Config.NONE) {
            Locks.giveInode(folder);
            return Config.FULL;
        }
        boolean done = Folder.add(folder, name, i);
        int status = Config.OK;
        if (!done) {
            Inodes.drop(i);
            status = Config.FULL;
        } else {
            Locks.giveInode(i);
        }
        Locks.giveInode(folder);
        return status;
    }

    /** What is known of an inode. */
    /*@ requires 0 <= i && i < Config.INODES;
      @ performs action "Attr" () {
      @    \old(Locks.inodeOwner[i]) == 0 && \result != null && \result.size == Inodes.size[i]
      @    && (\result.folder <==> Inodes.kind[i] == Config.FOLDER) && \result.status == Config.OK } @*/
    public static Attributes attributes(int i) {
        Attributes a = new Attributes();
        Locks.takeInode(i);
        Inode n = Inodes.load(i);
        a.size = n.size;
        a.folder = n.isFolder();
        a.status = Config.OK;
        Locks.giveInode(i);
        return a;
    }

    /** The size of a file is set by one step. */
    /*@ requires 0 <= i && i < Config.INODES && 0 <= size && size <= Config.FILE_SIZE;
      @ performs action "Truncate" (Inodes.size[i]) { \old(Locks.inodeOwner[i]) == 0 && Inodes.size[i] == size } @*/
    public static void truncate(int i, int size) {
        Locks.takeInode(i);
        Inodes.size[i] = size;
        Locks.giveInode(i);
    }

    /** Two files change their sizes with each other; locks in the order of numbers. */
    /*@ requires 0 <= i && i < j && j < Config.INODES;
      @ performs action "Swap" (Inodes.size[i], Inodes.size[j]) {
      @    \old(Locks.inodeOwner[i]) == 0 && \old(Locks.inodeOwner[j]) == 0
      @    && Inodes.size[i] == \old(Inodes.size[j]) && Inodes.size[j] == \old(Inodes.size[i]) } @*/
    public static void swapSizes(int i, int j) {
        Locks.takeInode(i);
        Locks.takeInode(j);
        int kept = Inodes.size[i];
        Inodes.size[i] = Inodes.size[j];
        Inodes.size[j] = kept;
        Locks.giveInode(j);
        Locks.giveInode(i);
    }

    /** A file goes; the entry is gone before. */
    /*@ requires 0 <= i && i < Config.INODES;
      @ performs action "WasUnused" () { !\result }
      @ [] action "Removed" (Inodes.kind[i], Inodes.size[i]) {
      @      \result && \old(Locks.inodeOwner[i]) == 0 && \old(Inodes.kind[i]) != Config.UNUSED
      @      && Inodes.kind[i] == Config.UNUSED && Inodes.size[i] == 0 } @*/
    public static boolean remove(int i) {
        Locks.takeInode(i);
        if (Inodes.kind[i] == Config.UNUSED) {
            Locks.giveInode(i);
            //@ witness "WasUnused"
            return false;
        }
        Inodes.drop(i);
        //@ witness "Removed"
        return true;
    }
}
