// truth: safe
// why: the array is copied and replaced under the monitor.
// source: own
public class CopyUnderLock {
    private int[] data = new int[1];
    private int size;

    synchronized void add(int value) {
        if (size == data.length) {
            int[] larger = new int[size * 2];
            System.arraycopy(data, 0, larger, 0, size);
            data = larger;
        }
        data[size++] = value;
    }

    synchronized int removeFirst() {
        int first = data[0];
        System.arraycopy(data, 1, data, 0, size - 1);
        size--;
        return first;
    }

    synchronized int total() {
        int sum = 0;
        for (int i = 0; i < size; i++) {
            sum += data[i];
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        CopyUnderLock list = new CopyUnderLock();
        Thread t = new Thread(() -> list.add(2));
        t.start();
        list.add(3);
        t.join();
        assert list.total() == 5;
        int first = list.removeFirst();
        assert first == 2 || first == 3;
        assert list.total() == 5 - first;
    }
}
