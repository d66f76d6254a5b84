// truth: safe
// why: each object runs the method of its own class; 9 and 12 and 9 add up to 30.
// source: own
public class ShapesDispatch {
    interface Shape {
        int area();
    }

    static class Square implements Shape {
        protected final int side;

        Square(int side) {
            this.side = side;
        }

        public int area() {
            return side * side;
        }
    }

    static class Frame extends Square {
        private final int border;

        Frame(int side, int border) {
            super(side);
            this.border = border;
        }

        public int area() {
            return super.area() - (side - 2 * border) * (side - 2 * border);
        }
    }

    static int sum;

    static synchronized void add(Shape shape) {
        sum += shape.area();
    }

    public static void main(String[] args) throws InterruptedException {
        Shape square = new Square(3);
        Shape frame = new Frame(4, 1);
        Thread other = new Thread(() -> add(square));
        other.start();
        add(frame);
        other.join();
        assert sum == 9 + 12;
    }
}
