/** Sizes and codes that all layers share. */
class Config {
    static final int INODES = 16;
    static final int BLOCKS = 64;
    static final int BLOCK_SIZE = 32;
    static final int SLOTS = 4;
    static final int FILE_SIZE = SLOTS * BLOCK_SIZE;
    static final int ENTRIES = 8;

    static final int OK = 0;
    static final int EXISTS = 1;
    static final int NOT_FOUND = 2;
    static final int FULL = 3;
    static final int BAD = 4;

    static final int UNUSED = 0;
    static final int REGULAR = 1;
    static final int FOLDER = 2;
    static final int NONE = -1;

    /** The inode of the first folder. */
    static final int ROOT = 0;
}
