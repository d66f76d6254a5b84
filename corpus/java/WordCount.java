// truth: safe
// why: `merge` adds in one step, so no count is lost.
// source: own
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;

public class WordCount {
    private final ConcurrentMap<String, Integer> counts = new ConcurrentHashMap<>();

    void count(String[] words) {
        for (String word : words) {
            counts.merge(word, 1, Integer::sum);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        WordCount counter = new WordCount();
        CountDownLatch done = new CountDownLatch(2);
        String[][] texts = {{"a", "b"}, {"a"}};
        for (String[] text : texts) {
            new Thread(() -> {
                counter.count(text);
                done.countDown();
            }).start();
        }
        done.await();
        assert counter.counts.get("a") == 2;
        assert counter.counts.getOrDefault("b", 0) == 1;
    }
}
