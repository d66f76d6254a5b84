/** Numbers in byte arrays, the highest byte first. */
class Buffer {
    /*@ helper */
    static int unsigned(byte b) {
        return b & 0xff;
    }

    /*@ requires 0 <= at && at <= 100000 && at + 4 <= data.length
        ensures \result == ((data[at] & 0xff) << 24 | (data[at + 1] & 0xff) << 16 | (data[at + 2] & 0xff) << 8 | (data[at + 3] & 0xff))
     */
    static int getInt(/*@ non_null */ /*@ thread_local */ byte[] data, int at) {
        return unsigned(data[at]) << 24 | unsigned(data[at + 1]) << 16 | unsigned(data[at + 2]) << 8 | unsigned(data[at + 3]);
    }

    /*@ requires 0 <= at && at <= 100000 && at + 4 <= data.length
        modifies data[at], data[at + 1], data[at + 2], data[at + 3]
        ensures data[at] == (byte) (n >> 24) && data[at + 1] == (byte) (n >> 16)
        ensures data[at + 2] == (byte) (n >> 8) && data[at + 3] == (byte) n
     */
    static void putInt(/*@ non_null */ /*@ thread_local */ byte[] data, int at, int n) {
        data[at] = (byte) (n >> 24);
        data[at + 1] = (byte) (n >> 16);
        data[at + 2] = (byte) (n >> 8);
        data[at + 3] = (byte) n;
    }

    /*@ requires data.length >= 8 */
    static long getLong(/*@ non_null */ /*@ thread_local */ byte[] data) {
        long n = 0;
        for (int i = 0; i < 8; i++) {
            n = (n << 8) + (data[i] & 0xff);
        }
        return n;
    }

    /*@ requires data.length >= 8
        modifies data[*] */
    static void putLong(/*@ non_null */ /*@ thread_local */ byte[] data, long n) {
        for (int i = 7; i >= 0; i--) {
            data[i] = (byte) (n & 0xff);
            n >>= 8;
        }
    }

    /*@ requires 0 <= n && n <= 100000
        ensures \result.length == n */
    /*@ non_null */
    static byte[] make(int n) {
        byte[] b = new byte[n];
        return b;
    }
}
