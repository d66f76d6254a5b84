// truth: safe
// why: parts that overlap are copied as if through a third array.
// source: own
public class ShiftRightOverlap {
    public static void main(String[] args) {
        int[] a = {1, 2, 3, 4, 0};
        System.arraycopy(a, 0, a, 1, 4);
        assert a[0] == 1 && a[1] == 1 && a[2] == 2 && a[3] == 3 && a[4] == 4;
        System.arraycopy(a, 2, a, 0, 3);
        assert a[0] == 2 && a[1] == 3 && a[2] == 4 && a[3] == 3 && a[4] == 4;
    }
}
