import java.util.Vector;

/** One open file; its fields belong to who holds its monitor. */
class OpenFile {
    int inode; //@ guarded_by this
    int position; //@ guarded_by this
    boolean closed; //@ guarded_by this

    /*@ performs action "moved" (position) { position == to } */
    public synchronized void seek(int to) {
        position = to;
    }

    /*@ performs action "told" () { \result == position } */
    public synchronized int tell() {
        return position;
    }

    /*@ requires 0 <= by && by <= Const.MAXFILE
        performs action "past" () { \result == -1 }
        [] action "advanced" (position) { \result == \old(position) && \result >= 0 && position == \old(position) + by && position <= Const.MAXFILE } */
    public synchronized int advance(int by) {
        int old = position;
        if (old < 0 || old > Const.MAXFILE - by) {
            //@ set \witness = "past"
            return -1;
        }
        position += by;
        //@ set \witness = "advanced"
        return old;
    }
}

/** The table of open files. */
class OpenFiles {
    private static final Object lock = new Object();
    static final OpenFile[] table = new OpenFile[Const.OPEN]; //@ guarded_by[h] lock
    static int count = 0; //@ guarded_by lock

    /*@ performs action "full" () { \result == -1 }
        [] action "opened" (table[\result], count) {
            0 <= \result && \result < Const.OPEN && \old(table[\result]) == null && table[\result] == file && count == \old(count) + 1 } */
    public static int add(/*@ non_null */ OpenFile file) {
        synchronized (lock) {
            for (int h = 0; h < Const.OPEN; h++) {
                if (table[h] == null) {
                    table[h] = file;
                    count++;
                    //@ set \witness = "opened"
                    return h;
                }
            }
        }
        //@ set \witness = "full"
        return -1;
    }

    /*@ requires 0 <= h && h < Const.OPEN
        performs action "found" () { \result == table[h] } */
    public static OpenFile lookup(int h) {
        synchronized (lock) {
            return table[h];
        }
    }

    /*@ requires 0 <= h && h < Const.OPEN
        performs action "none" () { !\result && table[h] == null }
        [] action "closed" (table[h], count) { \result && \old(table[h]) != null && table[h] == null && count == \old(count) - 1 } */
    public static boolean remove(int h) {
        synchronized (lock) {
            if (table[h] == null) {
                return false;
            }
            table[h] = null;
            --count;
            return true;
        }
    }
}
