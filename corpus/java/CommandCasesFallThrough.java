// truth: unsafe
// why: the first command goes on to the second: the counter is raised and lowered.
// source: own
public class CommandCasesFallThrough {
    static final int UP = 1;
    static final int DOWN = 2;
    static final int RESET = 3;
    private int value;

    synchronized void command(int code) {
        switch (code) {
            case UP:
                value++;
                // goes on
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
        CommandCasesFallThrough counter = new CommandCasesFallThrough();
        Thread a = new Thread(() -> counter.command(UP));
        Thread b = new Thread(() -> counter.command(UP));
        a.start();
        b.start();
        a.join();
        b.join();
        assert counter.value() == 2;
    }
}
