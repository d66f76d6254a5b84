/** What a caller knows of an inode: a copy that only one thread uses. */
/*@ thread_local @*/ class Inode {
    int number;
    int kind;
    int size;
    int first;

    Inode() {
        number = Config.NONE;
        kind = Config.UNUSED;
        size = 0;
        first = Config.NONE;
    }

    /** Whether an offset lies inside the file. */
    /*@ helper */
    boolean has(int offset) {
        return offset >= 0 && offset < size;
    }

    //@ helper
    boolean isFolder() {
        return kind == Config.FOLDER;
    }
}
