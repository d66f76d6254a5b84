class CyclicBarrier {
    private final int parties$;
    private final Runnable action$;
    private volatile int arrived$;
    private volatile int turn$;

    CyclicBarrier(int parties) {
        if (parties <= 0) throw new IllegalArgumentException();
        parties$ = parties;
        action$ = null;
    }

    CyclicBarrier(int parties, Runnable action) {
        if (parties <= 0) throw new IllegalArgumentException();
        parties$ = parties;
        action$ = action;
    }

    // While the last one opens the barrier nobody else arrives.
    @Step private int arrive$() {
        Model.await(arrived$ < parties$);
        arrived$ = arrived$ + 1;
        return arrived$;
    }

    @Step private void open$() {
        arrived$ = 0;
        turn$ = turn$ + 1;
    }

    @Step private void pass$(int turn) { Model.await(turn$ != turn); }

    public int await() throws InterruptedException, BrokenBarrierException {
        if (Model.INTERRUPTS) Model.unknown("a barrier in a program that interrupts threads");
        int turn = turn$;
        int place = arrive$();
        if (place == parties$) {
            if (action$ != null) action$.run();
            open$();
        } else {
            pass$(turn);
        }
        return parties$ - place;
    }

    public int getParties() { return parties$; }
    public boolean isBroken() { return false; }
}
