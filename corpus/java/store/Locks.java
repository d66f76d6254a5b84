/** Locks of inodes and of blocks, by number: who has a lock, or 0. */
class Locks {
    static final int[] inodeOwner /*@ accessible_if[i] inodeOwner[i] == 0 || inodeOwner[i] == \tid; */ = new int[Config.INODES];
    static final int[] blockOwner /*@ accessible_if[b] blockOwner[b] == 0 || blockOwner[b] == \tid; */ = new int[Config.BLOCKS];

    /*@ requires 0 <= i && i < Config.INODES;
      @ performs action "TakeInode" (inodeOwner[i]) { \old(inodeOwner[i]) == 0 && inodeOwner[i] == \tid }
      @*/
    static void takeInode(int i) {
        acquire(inodeOwner[i]);
        //@ set \witness = "TakeInode";
    }

    /*@ requires 0 <= i && i < Config.INODES && inodeOwner[i] == \tid;
      @ performs action "GiveInode" (inodeOwner[i]) { inodeOwner[i] == 0 }
      @*/
    static void giveInode(int i) {
        release(inodeOwner[i]);
    }

    /*@ requires 0 <= b && b < Config.BLOCKS;
      @ performs action "TakeBlock" (blockOwner[b]) { \old(blockOwner[b]) == 0 && blockOwner[b] == \tid }
      @*/
    static void takeBlock(int b) {
        acquire(blockOwner[b]);
        //@ set \witness = "TakeBlock";
    }

    /*@ requires 0 <= b && b < Config.BLOCKS && blockOwner[b] == \tid;
      @ performs action "GiveBlock" (blockOwner[b]) { blockOwner[b] == 0 }
      @*/
    static void giveBlock(int b) {
        release(blockOwner[b]);
    }
}
