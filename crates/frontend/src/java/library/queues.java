interface BlockingQueue<E> {
    void put(E item) throws InterruptedException;
    E take() throws InterruptedException;
    boolean offer(E item);
    boolean offer(E item, long time, TimeUnit unit) throws InterruptedException;
    boolean add(E item);
    E poll();
    E poll(long time, TimeUnit unit) throws InterruptedException;
    E peek();
    int size();
    boolean isEmpty();
    int remainingCapacity();
    void clear();
}

class LinkedBlockingQueue<E> implements BlockingQueue<E> {
    private final ConcurrentLinkedQueue<E> items$ = new ConcurrentLinkedQueue<>();
    private final int capacity$;

    LinkedBlockingQueue() { capacity$ = 2147483647; }

    LinkedBlockingQueue(int capacity) {
        if (capacity <= 0) throw new IllegalArgumentException();
        capacity$ = capacity;
    }

    @Step private int put$(E item, boolean tries) {
        Model.await(tries || items$.size() < capacity$ || Model.interrupted());
        if (!tries && Model.clearInterrupted()) return 2;
        if (items$.size() >= capacity$) return 0;
        items$.add(item);
        return 1;
    }


    @Step private E take$(boolean tries) {
        Model.await(tries || items$.size() > 0 || Model.interrupted());
        if (!tries && Model.interrupted()) return null;
        return items$.poll();
    }

    public void put(E item) throws InterruptedException {
        if (item == null) throw new NullPointerException();
        if (put$(item, false) == 2 && Model.INTERRUPTS) throw new InterruptedException();
    }

    public E take() throws InterruptedException {
        E item = take$(false);
        if (Model.INTERRUPTS && item == null && Model.clearInterrupted()) throw new InterruptedException();
        return item;
    }

    public boolean offer(E item) {
        if (item == null) throw new NullPointerException();
        return put$(item, true) == 1;
    }

    public boolean offer(E item, long time, TimeUnit unit) throws InterruptedException {
        if (item == null) throw new NullPointerException();
        int outcome = put$(item, Model.any());
        if (outcome == 2 && Model.INTERRUPTS) throw new InterruptedException();
        return outcome == 1;
    }

    public boolean add(E item) {
        if (item == null) throw new NullPointerException();
        if (put$(item, true) == 0) throw new IllegalStateException();
        return true;
    }

    public E poll() { return take$(true); }

    public E poll(long time, TimeUnit unit) throws InterruptedException {
        E item = take$(Model.any());
        if (Model.INTERRUPTS && item == null && Model.clearInterrupted()) throw new InterruptedException();
        return item;
    }

    public E peek() { return items$.peek(); }
    public int size() { return items$.size(); }
    public boolean isEmpty() { return items$.isEmpty(); }
    @Step public int remainingCapacity() { return capacity$ - items$.size(); }
    public void clear() { items$.clear(); }
}

class ArrayBlockingQueue<E> extends LinkedBlockingQueue<E> {
    ArrayBlockingQueue(int capacity) { super(capacity); }
    ArrayBlockingQueue(int capacity, boolean fair) { super(capacity); }
}
