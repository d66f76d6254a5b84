// truth: unsafe
// why: only the inner loop is left: the last cell that fits is reported, not the first.
// source: own
public class SearchStopsInnerLoop {
    static final int[] grid = { 0, 1, 1, 1 };
    static volatile int found = -1;

    static void search() {
        rows:
        for (int row = 0; row < 2; row++) {
            for (int column = 0; column < 2; column++) {
                int at = row * 2 + column;
                if (grid[at] == 0) {
                    continue;
                }
                found = at;
                break;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> search());
        a.start();
        a.join();
        assert found == 1;
    }
}
