/** The disk: an array of blocks; the holder of the lock of a block owns its bytes. */
class Disk {
    static final byte[][] image /*@ guarded_by[b][k] LockTable.blockHolder[b] == 0 || LockTable.blockHolder[b] == \tid; */
        = new byte[Const.BLOCKS][Const.BLOCKSIZE];

    /*@ requires 0 <= b && b < Const.BLOCKS && 0 <= k && k < Const.BLOCKSIZE
        requires LockTable.blockHolder[b] == \tid
        performs action "readByte" () { \result == image[b][k] }
     */
    static byte readByte(int b, int k) {
        return image[b][k];
    }

    /*@ requires 0 <= b && b < Const.BLOCKS && 0 <= k && k < Const.BLOCKSIZE
        requires LockTable.blockHolder[b] == \tid
        performs action "writeByte" (image[b][k]) { image[b][k] == value }
     */
    static void writeByte(int b, int k, byte value) {
        image[b][k] = value;
    }

    /*@ requires 0 <= b && b < Const.BLOCKS && LockTable.blockHolder[b] == \tid
        performs action "zero" (image[b][*]) { (\forall int k; 0 <= k && k < Const.BLOCKSIZE ==> image[b][k] == 0) }
     */
    static void zero(int b) {
        for (int i = 0; i < Const.BLOCKSIZE; i++) {
            writeByte(b, i, (byte) 0);
        }
    }

    /*@ requires 0 <= b && b < Const.BLOCKS && LockTable.blockHolder[b] == \tid
        requires 0 <= at && 0 <= count && at + count <= Const.BLOCKSIZE
        requires at <= Const.BLOCKSIZE && count <= Const.BLOCKSIZE
        requires 0 <= off && off <= 100000 && off + count <= from.length
        performs action "writeBlock" (image[b][*]) {
            (\forall int k; 0 <= k && k < count ==> image[b][at + k] == from[off + k]) &&
            (\forall int k; 0 <= k && k < Const.BLOCKSIZE && (k < at || at + count <= k) ==> image[b][k] == \old(image[b][k])) }
     */
    static void writeBlock(int b, int at, /*@ non_null */ /*@ thread_local */ byte[] from, int off, int count) {
        int n = 0;
        while (n < count) {
            image[b][at + n] = from[off + n];
            n++;
        }
    }

    /*@ requires 0 <= b && b < Const.BLOCKS && LockTable.blockHolder[b] == \tid
        requires 0 <= at && at <= Const.BLOCKSIZE && 0 <= count && at + count <= Const.BLOCKSIZE && count <= Const.BLOCKSIZE
        requires count <= into.length
        performs action "readBlock" (into[*]) {
            (\forall int k; 0 <= k && k < count ==> into[k] == image[b][at + k]) }
     */
    static void readBlock(int b, int at, /*@ non_null */ /*@ thread_local */ byte[] into, int count) {
        for (int n = 0; n < count; ++n) {
            into[n] = image[b][at + n];
        }
    }
}
