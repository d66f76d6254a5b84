/* N dining philosophers; neighbours never eat together. -DNAIVE: everyone takes the left fork first, which can block. */
#ifndef N
#define N 3
#endif

byte fork[N];
bit eating[N];

proctype Philosopher(byte me) {
  byte first;
  byte second;
#ifdef NAIVE
  first = me; second = (me + 1) % N;
#else
  if
  :: me < (me + 1) % N -> first = me; second = (me + 1) % N
  :: else -> first = (me + 1) % N; second = me
  fi;
#endif
  do
  :: atomic { fork[first] == 0 -> fork[first] = me + 1 };
     atomic { fork[second] == 0 -> fork[second] = me + 1 };
     eating[me] = 1;
     assert(!eating[(me + 1) % N] && !eating[(me + N - 1) % N]);
     eating[me] = 0;
     fork[me] = 0;
     fork[(me + 1) % N] = 0
  od
}

init {
  byte i = 0;
  atomic {
    do
    :: i < N -> run Philosopher(i); i++
    :: else -> break
    od
  }
}
