// truth: safe
// why: records are values that do not change, and each kind of message is handled once.
// source: own
import java.util.concurrent.LinkedBlockingQueue;

public class RecordsAndSwitch {
    enum Kind { ADD, SUBTRACT, STOP }

    record Message(Kind kind, int amount) {
        Message {
            if (amount < 0) {
                throw new IllegalArgumentException("amount " + amount);
            }
        }
    }

    static int apply(int total, Message m) {
        return switch (m.kind()) {
            case ADD -> total + m.amount();
            case SUBTRACT -> {
                int rest = total - m.amount();
                yield rest < 0 ? 0 : rest;
            }
            case STOP -> total;
        };
    }

    public static void main(String[] args) throws InterruptedException {
        var queue = new LinkedBlockingQueue<Message>();
        var sender = new Thread(() -> {
            try {
                queue.put(new Message(Kind.ADD, 5));
                queue.put(new Message(Kind.SUBTRACT, 7));
                queue.put(new Message(Kind.STOP, 0));
            } catch (InterruptedException e) {
                return;
            }
        });
        sender.start();
        int total = 1;
        while (true) {
            Message m = queue.take();
            total = apply(total, m);
            if (m.kind() == Kind.STOP) {
                break;
            }
        }
        sender.join();
        assert total == 0;
    }
}
