// truth: unsafe
// why: `poll` with a limit of time gives null where the time passes first.
// source: own
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class TimedPollGivesUp {
    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        Thread sender = new Thread(() -> queue.offer(4));
        sender.start();
        int received = queue.poll(1, TimeUnit.SECONDS);
        assert received == 4;
    }
}
