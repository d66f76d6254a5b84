// truth: unsafe
// why: two threads may both find nothing, and compute twice.
// source: own
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public class Memoizer {
    interface Computable<A, V> {
        V compute(A arg);
    }

    static class Memo<A, V> implements Computable<A, V> {
        private final ConcurrentHashMap<A, V> cache = new ConcurrentHashMap<>();
        private final Computable<A, V> function;

        Memo(Computable<A, V> function) {
            this.function = function;
        }

        @Override
        public V compute(A arg) {
            V result = cache.get(arg);
            if (result == null) {
                result = function.compute(arg);
                cache.put(arg, result);
            }
            return result;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        AtomicInteger calls = new AtomicInteger();
        Computable<Integer, Integer> slow = new Computable<>() {
            @Override
            public Integer compute(Integer n) {
                calls.incrementAndGet();
                return n * n;
            }
        };
        Memo<Integer, Integer> memo = new Memo<>(slow);
        Thread t = new Thread(() -> memo.compute(3));
        t.start();
        int value = memo.compute(3);
        t.join();
        assert value == 9;
        assert calls.get() == 1;
    }
}
