interface Executor {
    void execute(Runnable task);
}

// Tasks begin in the order in which they were given, no more of them at once than the pool has threads.
class ExecutorService implements Executor {
    private final int most$;
    private volatile int given$;
    private volatile int begun$;
    private volatile int ended$;
    private volatile boolean closed$;

    ExecutorService(int most) { most$ = most; }

    @Step private int give$() {
        if (closed$) return -1;
        given$ = given$ + 1;
        return given$ - 1;
    }

    @Step void begin$(int ticket) {
        Model.await(most$ == 0 || begun$ == ticket && begun$ - ended$ < most$);
        begun$ = begun$ + 1;
    }

    @Step void end$() { ended$ = ended$ + 1; }

    public void execute(Runnable task) {
        if (task == null) throw new NullPointerException();
        int ticket = give$();
        if (ticket < 0) throw new RejectedExecutionException();
        PoolThread$ thread = new PoolThread$(this, task, ticket);
        thread.start();
    }

    Future<Object> future$() { return null; }

    public void shutdown() { closed$ = true; }
    public void close() { closed$ = true; finish$(); }
    public boolean isShutdown() { return closed$; }
    @Step public boolean isTerminated() { return closed$ && ended$ == given$; }
    @Step private void finish$() { Model.await(ended$ == given$); }

    @Step private boolean ended$(boolean waits) {
        Model.await(!waits || closed$ && ended$ == given$);
        return closed$ && ended$ == given$;
    }

    public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
        if (Model.INTERRUPTS) Model.unknown("`awaitTermination` in a program that interrupts threads");
        return ended$(time == 9223372036854775807L || Model.any());
    }
}

class PoolThread$ extends Thread {
    private final ExecutorService pool$;
    private final Runnable task$;
    private final int ticket$;

    PoolThread$(ExecutorService pool, Runnable task, int ticket) {
        pool$ = pool;
        task$ = task;
        ticket$ = ticket;
    }

    public void run() {
        pool$.begin$(ticket$);
        task$.run();
        pool$.end$();
    }
}

class Executors {
    static ExecutorService newFixedThreadPool(int threads) {
        if (threads <= 0) throw new IllegalArgumentException();
        return new ExecutorService(threads);
    }
    static ExecutorService newSingleThreadExecutor() { return new ExecutorService(1); }
    static ExecutorService newCachedThreadPool() { return new ExecutorService(0); }
    static ExecutorService newWorkStealingPool() { return new ExecutorService(0); }
}

interface Future<V> {
    V get() throws InterruptedException, ExecutionException;
    V get(long time, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException;
    boolean isDone();
    default FutureTask<V> task$() { return null; }
}

class FutureTask<V> implements Future<V>, Runnable {
    private final Callable<V> callable$;
    private final Runnable runnable$;
    private volatile V value$;
    // 0: not begun, 1: begun, 2: done, 3: an exception left it.
    private volatile int state$;

    FutureTask(Callable<V> callable) {
        callable$ = callable;
        runnable$ = null;
    }

    FutureTask(Runnable runnable, V value) {
        callable$ = null;
        runnable$ = runnable;
        value$ = value;
    }

    FutureTask<V> in$(ExecutorService pool) {
        pool.execute(this);
        return this;
    }

    @Step private boolean claim$() {
        if (state$ != 0) return false;
        state$ = 1;
        return true;
    }

    public void run() {
        if (!claim$()) return;
        int outcome = 2;
        try {
            if (callable$ != null) value$ = callable$.call();
            else runnable$.run();
        } catch (Throwable t) {
            outcome = 3;
        }
        state$ = outcome;
    }

    @Step private int wait$(boolean tries) {
        Model.await(tries || state$ >= 2 || Model.interrupted());
        if (state$ >= 2) return state$;
        return Model.clearInterrupted() ? 4 : 0;
    }

    public V get() throws InterruptedException, ExecutionException {
        int outcome = wait$(false);
        if (outcome == 3) throw new ExecutionException();
        if (outcome == 4 && Model.INTERRUPTS) throw new InterruptedException();
        return value$;
    }

    public V get(long time, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        int outcome = wait$(Model.any());
        if (outcome == 3) throw new ExecutionException();
        if (outcome == 4 && Model.INTERRUPTS) throw new InterruptedException();
        if (outcome == 0) throw new TimeoutException();
        return value$;
    }

    public boolean isDone() { return state$ >= 2; }
}
