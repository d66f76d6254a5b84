/** The bytes of all blocks. Who has the lock of a block may read and write it. */
class Disk {
    static final byte[][] data /*@ guarded_by[b][k] Locks.blockOwner[b] == 0 || Locks.blockOwner[b] == \tid; */
        = new byte[Config.BLOCKS][Config.BLOCK_SIZE];

    /*@ requires 0 <= b && b < Config.BLOCKS && 0 <= k && k < Config.BLOCK_SIZE;
      @ requires Locks.blockOwner[b] == \tid;
      @ performs action "Get" () { \result == data[b][k] }
      @*/
    static byte get(int b, int k) {
        return data[b][k];
    }

    /*@ requires 0 <= b && b < Config.BLOCKS && 0 <= k && k < Config.BLOCK_SIZE;
      @ requires Locks.blockOwner[b] == \tid;
      @ performs action "Put" (data[b][k]) { data[b][k] == value }
      @*/
    static void put(int b, int k, byte value) {
        data[b][k] = value;
    }

    /** All bytes of a block become zero. */
    /*@ requires 0 <= b && b < Config.BLOCKS && Locks.blockOwner[b] == \tid;
      @ performs action "Clear" (data[b][*]) {
      @    (\forall int k; 0 <= k && k < Config.BLOCK_SIZE ==> data[b][k] == 0) }
      @*/
    static void clear(int b) {
        for (int k = 0; k < Config.BLOCK_SIZE; k++) {
            data[b][k] = 0;
        }
        //@ witness "Clear"
    }

    /** An int in four bytes of a block. */
    /*@ requires 0 <= b && b < Config.BLOCKS && 0 <= k && k <= Config.BLOCK_SIZE - 4;
      @ requires Locks.blockOwner[b] == \tid;
      @ performs action "PutInt" (data[b][k], data[b][k + 1], data[b][k + 2], data[b][k + 3]) {
      @    data[b][k] == (byte) (value >> 24) && data[b][k + 1] == (byte) (value >> 16)
      @    && data[b][k + 2] == (byte) (value >> 8) && data[b][k + 3] == (byte) value }
      @*/
    static void putInt(int b, int k, int value) {
        data[b][k] = (byte) (value >> 24);
        data[b][k + 1] = (byte) (value >> 16);
        data[b][k + 2] = (byte) (value >> 8);
        data[b][k + 3] = (byte) value;
    }

    /** A block becomes a copy of another one. */
    /*@ requires 0 <= from && from < Config.BLOCKS && 0 <= to && to < Config.BLOCKS && from != to;
      @ requires Locks.blockOwner[from] == \tid && Locks.blockOwner[to] == \tid;
      @ performs action "Copy" (data[to][*]) {
      @    (\forall int k; 0 <= k && k < Config.BLOCK_SIZE ==> data[to][k] == data[from][k]) }
      @*/
    static void copy(int from, int to) {
        int k = 0;
        while (k < Config.BLOCK_SIZE) {
            data[to][k] = data[from][k];
            k += 1;
        }
    }
}
