class AtomicIntegerArray {
    private final int[] cells$;

    AtomicIntegerArray(int length) { cells$ = new int[length]; }

    @Step public int get(int i) { return cells$[i]; }
    @Step public void set(int i, int value) { cells$[i] = value; }
    @Step public int getAndSet(int i, int value) { int old = cells$[i]; cells$[i] = value; return old; }
    @Step public boolean compareAndSet(int i, int old, int value) {
        if (cells$[i] != old) return false;
        cells$[i] = value;
        return true;
    }
    @Step public int getAndAdd(int i, int by) { int old = cells$[i]; cells$[i] = old + by; return old; }
    @Step public int addAndGet(int i, int by) { int sum = cells$[i] + by; cells$[i] = sum; return sum; }
    public int getAndIncrement(int i) { return getAndAdd(i, 1); }
    public int getAndDecrement(int i) { return getAndAdd(i, -1); }
    public int incrementAndGet(int i) { return addAndGet(i, 1); }
    public int decrementAndGet(int i) { return addAndGet(i, -1); }
    public int length() { return cells$.length; }
}

class AtomicLongArray {
    private final long[] longs$;

    AtomicLongArray(int length) { longs$ = new long[length]; }

    @Step public long get(int i) { return longs$[i]; }
    @Step public void set(int i, long value) { longs$[i] = value; }
    @Step public long getAndSet(int i, long value) { long old = longs$[i]; longs$[i] = value; return old; }
    @Step public boolean compareAndSet(int i, long old, long value) {
        if (longs$[i] != old) return false;
        longs$[i] = value;
        return true;
    }
    @Step public long getAndAdd(int i, long by) { long old = longs$[i]; longs$[i] = old + by; return old; }
    @Step public long addAndGet(int i, long by) { long sum = longs$[i] + by; longs$[i] = sum; return sum; }
    public long getAndIncrement(int i) { return getAndAdd(i, 1); }
    public long getAndDecrement(int i) { return getAndAdd(i, -1); }
    public long incrementAndGet(int i) { return addAndGet(i, 1); }
    public long decrementAndGet(int i) { return addAndGet(i, -1); }
    public int length() { return longs$.length; }
}

// A sum that is taken while others add may miss any of their additions.
class LongAdder {
    private volatile long up$;
    private volatile long down$;
    private volatile long more$;
    private volatile int changes$;

    @Step public void increment() { up$ = up$ + 1; }
    @Step public void decrement() { down$ = down$ + 1; }
    @Step public void add(long by) { more$ = more$ + by; changes$ = changes$ + 1; }

    public long sum() {
        long more = more$;
        int changes = changes$;
        long up = up$;
        long down = down$;
        long ups = Model.between(up, up$);
        long downs = Model.between(down, down$);
        if (changes != changes$) Model.unknown("a sum of a `LongAdder` to which others add at the same time");
        return more + ups - downs;
    }

    public int intValue() { return (int) sum(); }
    public long longValue() { return sum(); }
    public void reset() { Model.unknown("`LongAdder.reset`"); }
}
