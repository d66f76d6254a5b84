// Locks that are objects: entered any number of times, also for reading.
interface Lock {
    void lock();
    void lockInterruptibly() throws InterruptedException;
    boolean tryLock();
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;
    void unlock();
    Condition newCondition();
}

interface Condition {
    void await() throws InterruptedException;
    boolean await(long time, TimeUnit unit) throws InterruptedException;
    void awaitUninterruptibly();
    void signal();
    void signalAll();
}

class Waiter$ {
    volatile boolean woken$;
}

class ReentrantLock implements Lock {
    private volatile int owner$;
    private volatile int holds$;

    ReentrantLock() { }
    ReentrantLock(boolean fair) { }

    @Step public void lock() {
        int me = Model.thread();
        Model.await(owner$ == 0 || owner$ == me);
        owner$ = me;
        holds$ = holds$ + 1;
    }

    @Step private boolean enter$() {
        int me = Model.thread();
        Model.await(owner$ == 0 || owner$ == me || Model.interrupted());
        if (Model.clearInterrupted()) return false;
        owner$ = me;
        holds$ = holds$ + 1;
        return true;
    }

    public void lockInterruptibly() throws InterruptedException {
        if (!enter$() && Model.INTERRUPTS) throw new InterruptedException();
    }

    @Step public boolean tryLock() {
        int me = Model.thread();
        if (owner$ != 0 && owner$ != me) return false;
        owner$ = me;
        holds$ = holds$ + 1;
        return true;
    }

    @Step private int tryEnter$() {
        int me = Model.thread();
        boolean waits = Model.any();
        Model.await(!waits || owner$ == 0 || owner$ == me || Model.interrupted());
        if (Model.clearInterrupted()) return 2;
        if (owner$ != 0 && owner$ != me) return 0;
        owner$ = me;
        holds$ = holds$ + 1;
        return 1;
    }

    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        int outcome = tryEnter$();
        if (outcome == 2 && Model.INTERRUPTS) throw new InterruptedException();
        return outcome == 1;
    }

    @Step private boolean leave$() {
        if (owner$ != Model.thread()) return false;
        holds$ = holds$ - 1;
        if (holds$ == 0) owner$ = 0;
        return true;
    }

    public void unlock() {
        if (!leave$()) throw new IllegalMonitorStateException();
    }

    public Condition newCondition() { return new LockCondition$(this); }
    public boolean isLocked() { return owner$ != 0; }
    public boolean isHeldByCurrentThread() { return owner$ == Model.thread(); }

    @Step public int getHoldCount() {
        return owner$ == Model.thread() ? holds$ : 0;
    }

    @Step int giveUp$() {
        if (owner$ != Model.thread()) return -1;
        int held = holds$;
        owner$ = 0;
        holds$ = 0;
        return held;
    }

    @Step void takeBack$(int held) {
        Model.await(owner$ == 0);
        owner$ = Model.thread();
        holds$ = held;
    }
}

class LockCondition$ implements Condition {
    private final ReentrantLock lock$;
    private final ConcurrentLinkedQueue<Waiter$> waiting$ = new ConcurrentLinkedQueue<>();

    LockCondition$(ReentrantLock lock) { lock$ = lock; }

    @Step private int begin$(Waiter$ waiter) {
        int held = lock$.giveUp$();
        if (held >= 0) waiting$.add(waiter);
        return held;
    }

    // Wakes up when it is told to, or by itself: that is chosen before.
    @Step private boolean sleep$(Waiter$ waiter, boolean alone) {
        Model.await(alone || waiter.woken$ || Model.interrupted());
        waiter.woken$ = true;
        return Model.clearInterrupted();
    }

    private boolean pause$(boolean limited) {
        Waiter$ waiter = new Waiter$();
        boolean alone = Model.any();
        int held = begin$(waiter);
        if (held < 0) throw new IllegalMonitorStateException();
        boolean interrupted = sleep$(waiter, alone);
        lock$.takeBack$(held);
        return interrupted;
    }

    public void await() throws InterruptedException {
        if (pause$(false) && Model.INTERRUPTS) throw new InterruptedException();
    }

    public boolean await(long time, TimeUnit unit) throws InterruptedException {
        if (pause$(true) && Model.INTERRUPTS) throw new InterruptedException();
        return Model.any();
    }

    public void awaitUninterruptibly() {
        if (pause$(false) && Model.INTERRUPTS) Model.unknown("an interruption where a thread waits without regard to it");
    }

    @Step private boolean wake$(boolean all) {
        if (!lock$.isHeldByCurrentThread()) return false;
        boolean more = true;
        while (more) {
            Waiter$ first = waiting$.poll();
            if (first == null) {
                more = false;
            } else if (!first.woken$) {
                first.woken$ = true;
                more = all;
            }
        }
        return true;
    }

    public void signal() {
        if (!wake$(false)) throw new IllegalMonitorStateException();
    }

    public void signalAll() {
        if (!wake$(true)) throw new IllegalMonitorStateException();
    }
}

interface ReadWriteLock {
    Lock readLock();
    Lock writeLock();
}

class ReentrantReadWriteLock implements ReadWriteLock {
    volatile int writer$;
    volatile int writes$;
    volatile int reading$;
    final ConcurrentHashMap<Integer, Integer> reads$ = new ConcurrentHashMap<>();
    private final ReadLock readLock$;
    private final WriteLock writeLock$;

    ReentrantReadWriteLock() {
        readLock$ = new ReadLock(this);
        writeLock$ = new WriteLock(this);
    }

    ReentrantReadWriteLock(boolean fair) {
        readLock$ = new ReadLock(this);
        writeLock$ = new WriteLock(this);
    }

    public ReadLock readLock() { return readLock$; }
    public WriteLock writeLock() { return writeLock$; }
    public boolean isWriteLocked() { return writer$ != 0; }
    public int getReadLockCount() { return reading$; }

    static class ReadLock implements Lock {
        private final ReentrantReadWriteLock both$;

        ReadLock(ReentrantReadWriteLock both) { both$ = both; }

        @Step private boolean enter$(boolean tries) {
            int me = Model.thread();
            boolean free = both$.writer$ == 0 || both$.writer$ == me;
            Model.await(free || tries);
            if (!free) return false;
            int mine = both$.reads$.getOrDefault(me, 0);
            both$.reads$.put(me, mine + 1);
            both$.reading$ = both$.reading$ + 1;
            return true;
        }

        @Step private boolean leave$() {
            int me = Model.thread();
            int mine = both$.reads$.getOrDefault(me, 0);
            if (mine == 0) return false;
            both$.reads$.put(me, mine - 1);
            both$.reading$ = both$.reading$ - 1;
            return true;
        }

        public void lock() { enter$(false); }
        public void lockInterruptibly() throws InterruptedException {
            if (Model.INTERRUPTS) Model.unknown("an interruptible lock for reading in a program that interrupts");
            enter$(false);
        }
        public boolean tryLock() { return enter$(true); }
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException { return enter$(Model.any()); }
        public void unlock() { if (!leave$()) throw new IllegalMonitorStateException(); }
        public Condition newCondition() { throw new UnsupportedOperationException(); }
    }

    static class WriteLock implements Lock {
        private final ReentrantReadWriteLock both$;

        WriteLock(ReentrantReadWriteLock both) { both$ = both; }

        @Step private boolean enter$(boolean tries) {
            int me = Model.thread();
            boolean free = both$.writer$ == me || both$.writer$ == 0 && both$.reading$ == 0;
            Model.await(free || tries);
            if (!free) return false;
            both$.writer$ = me;
            both$.writes$ = both$.writes$ + 1;
            return true;
        }

        @Step private boolean leave$() {
            if (both$.writer$ != Model.thread()) return false;
            both$.writes$ = both$.writes$ - 1;
            if (both$.writes$ == 0) both$.writer$ = 0;
            return true;
        }

        public void lock() { enter$(false); }
        public void lockInterruptibly() throws InterruptedException {
            if (Model.INTERRUPTS) Model.unknown("an interruptible lock for writing in a program that interrupts");
            enter$(false);
        }
        public boolean tryLock() { return enter$(true); }
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException { return enter$(Model.any()); }
        public void unlock() { if (!leave$()) throw new IllegalMonitorStateException(); }
        public boolean isHeldByCurrentThread() { return both$.writer$ == Model.thread(); }
        public Condition newCondition() { Model.unknown("a condition of a lock for writing"); return null; }
    }
}
