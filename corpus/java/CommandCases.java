// truth: safe
// why: each command ends with a break.
// source: own
public class CommandCases {
    static final int UP = 1;
    static final int DOWN = 2;
    static final int RESET = 3;
    private int value;

    synchronized void command(int code) {
        switch (code) {
            case UP:
                value++;
                break;
            case DOWN:
                value--;
                break;
            case RESET:
            default:
                value = 0;
        }
    }

    synchronized int value() {
        return value;
    }

    public static void main(String[] args) throws InterruptedException {
        CommandCases counter = new CommandCases();
        Thread a = new Thread(() -> counter.command(UP));
        Thread b = new Thread(() -> counter.command(UP));
        a.start();
        b.start();
        a.join();
        b.join();
        assert counter.value() == 2;
    }
}
