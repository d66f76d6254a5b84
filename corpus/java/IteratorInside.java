// truth: safe
// why: an inner class walks over the list of the object around it, in one thread.
// source: own
public class IteratorInside {
    interface Cursor {
        boolean hasNext();

        int next();
    }

    private final int[] values = {4, 5, 6};
    private int reads;

    Cursor cursor(final int from) {
        return new Cursor() {
            private int at = from;

            @Override
            public boolean hasNext() {
                return at < values.length;
            }

            @Override
            public int next() {
                reads++;
                return values[at++];
            }
        };
    }

    public static void main(String[] args) {
        IteratorInside list = new IteratorInside();
        int sum = 0;
        for (Cursor c = list.cursor(1); c.hasNext(); ) {
            sum += c.next();
        }
        assert sum == 11;
        assert list.reads == 2;
    }
}
