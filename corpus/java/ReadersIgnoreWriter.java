// truth: unsafe
// why: a reader does not wait for the writer and may see the fields differ.
// source: own
public class ReadersIgnoreWriter {
    private int readers;
    private boolean writing;
    private int data;
    private int copy;

    synchronized void beginRead() throws InterruptedException {
        while (readers < 0) {
            wait();
        }
        readers++;
    }

    synchronized void endRead() {
        readers--;
        notifyAll();
    }

    synchronized void beginWrite() throws InterruptedException {
        while (writing || readers > 0) {
            wait();
        }
        writing = true;
    }

    synchronized void endWrite() {
        writing = false;
        notifyAll();
    }

    void write() throws InterruptedException {
        beginWrite();
        data++;
        copy++;
        endWrite();
    }

    void read() throws InterruptedException {
        beginRead();
        assert data == copy;
        endRead();
    }

    public static void main(String[] args) throws InterruptedException {
        ReadersIgnoreWriter shared = new ReadersIgnoreWriter();
        Thread writer = new Thread(() -> {
            try {
                shared.write();
            } catch (InterruptedException e) {
            }
        });
        writer.start();
        shared.read();
        writer.join();
    }
}
