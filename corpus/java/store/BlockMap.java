/** Which blocks are in use. */
class BlockMap {
    //@ guarded_by[b] Locks.blockOwner[b] == 0 || Locks.blockOwner[b] == \tid
    static final boolean[] used = new boolean[Config.BLOCKS];

    /** A block that was free, with its lock held by the caller; or none. */
    /*@ performs action "NoBlock": () { \result == Config.NONE }
      @ [] action "Allocated": (used[\result], Locks.blockOwner[\result]) {
      @      0 <= \result && \result < Config.BLOCKS
      @      && \old(Locks.blockOwner[\result]) == 0 && Locks.blockOwner[\result] == \tid
      @      && !\old(used[\result]) && used[\result] }
      @*/
    public static int alloc() {
        for (int b = 0; b < Config.BLOCKS; b++) {
            Locks.takeBlock(b);
            if (!used[b]) {
                used[b] = true;
                //@ set \witness = "Allocated";
                return b;
            }
            Locks.giveBlock(b);
        }
        //@ set \witness = "NoBlock";
        return Config.NONE;
    }

    /** Gives a block back whose lock the caller holds, and its lock. */
    /*@ requires 0 <= b && b < Config.BLOCKS;
      @ requires Locks.blockOwner[b] == \tid && used[b];
      @ performs action "Freed" (used[b], Locks.blockOwner[b]) { !used[b] && Locks.blockOwner[b] == 0 }
      @*/
    public static void free(int b) {
        used[b] = false;
        Locks.giveBlock(b);
        //@ witness "Freed"
    }

    /** Whether a block was in use at some moment. */
    /*@ requires 0 <= b && b < Config.BLOCKS;
      @ performs action "Asked" () { \old(Locks.blockOwner[b]) == 0 && (\result <==> used[b]) } @*/
    public static boolean isUsed(int b) {
        Locks.takeBlock(b);
        boolean answer = used[b];
        Locks.giveBlock(b);
        return answer;
    }
}
