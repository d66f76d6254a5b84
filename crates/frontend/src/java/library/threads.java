class ThreadLocal<T> {
    private final ConcurrentHashMap<Integer, T> ofThread$ = new ConcurrentHashMap<>();
    private final Supplier<T> first$;

    ThreadLocal() { first$ = null; }
    ThreadLocal(Supplier<T> first, boolean made) { first$ = first; }

    protected T initialValue() {
        if (first$ == null) return null;
        return first$.get();
    }

    public T get() {
        T value = ofThread$.get(Model.thread());
        if (value == null) {
            value = initialValue();
            if (value != null) ofThread$.put(Model.thread(), value);
        }
        return value;
    }

    public void set(T value) {
        if (value == null) ofThread$.remove(Model.thread());
        else ofThread$.put(Model.thread(), value);
    }

    public void remove() { ofThread$.remove(Model.thread()); }
}
