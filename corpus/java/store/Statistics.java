/** Counts of what was done, under a lock of its own. */
class Statistics {
    static int mutex /*@ accessible_if mutex == 0 || mutex == \tid */;
    static long reads /*@ guarded_by mutex */;
    static long writes /*@ guarded_by mutex */;

    /*@ performs action "Read" (reads) { \old(mutex) == 0 && reads == \old(reads) + n } @*/
    static void countRead(int n) {
        acquire(mutex);
        reads += n;
        release(mutex);
    }

    /*@ performs action "Written" (writes) { \old(mutex) == 0 && writes == \old(writes) + n } @*/
    static void countWrite(int n) {
        acquire(mutex);
        long before = writes;
        writes = before + n;
        release(mutex);
    }

    /** Both counts from one moment. */
    /*@ performs action "Sum" () { \old(mutex) == 0 && \result == reads + writes } @*/
    static long total() {
        acquire(mutex);
        long sum = reads;
        sum += writes;
        release(mutex);
        return sum;
    }

    /** Starts again; what was counted is not lost: it is returned. */
    /*@ performs action "Reset" (reads, writes) {
      @    \old(mutex) == 0 && reads == 0 && writes == 0 && \result == \old(reads) + \old(writes) } @*/
    static long reset() {
        acquire(mutex);
        long sum = reads + writes;
        reads = 0;
        writes = 0;
        release(mutex);
        return sum;
    }
}
