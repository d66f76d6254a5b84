// truth: safe
// why: the outer loop is left as soon as the cell is found.
// source: own
public class SearchWithLabel {
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
                break rows;
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
