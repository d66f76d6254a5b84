class Const {
    public static final int INODES = 64;
    public static final int BLOCKS = 256;
    public static final int BLOCKSIZE = 128;
    public static final int DIRECT = 8;
    public static final int MAXFILE = DIRECT * BLOCKSIZE;
    public static final int OPEN = 32;
    public static final int ROOT = 0;

    public static final int OK = 0;
    public static final int ERR_NOSPACE = 1;
    public static final int ERR_BADHANDLE = 2;
    public static final int ERR_RANGE = 3;
    public static final int ERR_EXISTS = 4;
    public static final int ERR_NOENT = 5;

    public static final int FREE = 0;
    public static final int FILE = 1;
    public static final int DIR = 2;
}
