/** A ring of numbers of changed inodes, from the writers to the one who makes them last. */
class Journal {
    static final int ROOM = 8;
    static final Object lock = new Object();

    static int head; //@ guarded_by lock
    static int tail; //@ guarded_by lock
    static int used; //@ guarded_by lock
    static final int[] ring /*@ guarded_by[i] lock; */ = new int[ROOM];

    //@ invariant 0 <= head && head < ROOM;
    //@ invariant 0 <= tail && tail < ROOM;

    /** Waits for room. */
    /*@ performs action "Append" (ring[\old(tail)], tail, used) {
      @    \old(used) < ROOM && used == \old(used) + 1
      @    && ring[\old(tail)] == inode && tail == (\old(tail) + 1 == ROOM ? 0 : \old(tail) + 1) }
      @*/
    static void append(int inode) {
        synchronized (lock) {
            while (used >= ROOM) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                }
            }
            ring[tail] = inode;
            tail = tail + 1 == ROOM ? 0 : tail + 1;
            used++;
            lock.notifyAll();
        }
    }

    /** Waits for an entry. */
    /*@ performs action "Take" (head, used) {
      @    \old(used) > 0 && used == \old(used) - 1 && \result == \old(ring[head])
      @    && head == (\old(head) + 1 == ROOM ? 0 : \old(head) + 1) }
      @*/
    static int take() {
        synchronized (lock) {
            while (used <= 0) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                }
            }
            int inode = ring[head];
            head = head + 1 == ROOM ? 0 : head + 1;
            used -= 1;
            lock.notifyAll();
            return inode;
        }
    }

    /** How many entries there were at some moment. */
    //@ performs action () { \result == used }
    static int pending() {
        synchronized (lock) {
            return used;
        }
    }
}
