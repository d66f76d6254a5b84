// truth: safe
// why: Peterson: whoever sets the turn last waits; volatile accesses are sequentially consistent and order the accesses inside.
// source: own
public class PetersonVolatile {
    static volatile boolean wantsA;
    static volatile boolean wantsB;
    static volatile int turn;
    static int inside;

    static void criticalA() {
        wantsA = true;
        turn = 1;
        while (wantsB && turn == 1) {
            Thread.onSpinWait();
        }
        inside++;
        assert inside == 1;
        inside--;
        wantsA = false;
    }

    static void criticalB() {
        wantsB = true;
        turn = 0;
        while (wantsA && turn == 0) {
            Thread.onSpinWait();
        }
        inside++;
        assert inside == 1;
        inside--;
        wantsB = false;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread b = new Thread(() -> criticalB());
        b.start();
        criticalA();
        b.join();
    }
}
