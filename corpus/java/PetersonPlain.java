// truth: unsafe
// why: the flags are plain fields that both threads access at once: data races.
// source: own
public class PetersonPlain {
    static boolean wantsA;
    static boolean wantsB;
    static int turn;
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
