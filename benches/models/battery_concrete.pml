/* The Battery driver of Abstract Threads, figure 6: one Unload, N - 1 Workers, and a dispatch routine of our own that is
 * not counted in N.
 *
 * WorkerActive has no bound in the program. Variants of what is kept of it:
 *   (none)      whether it is positive; a decrement of a positive value may give 0, 1 or more
 *   -DWMODE=3   0, 1, or 2 and more
 *   -DWMODE=9   its value, with at most N requests
 */
#ifndef N
#define N 3
#endif
#ifndef WMODE
#define WMODE 1
#endif

bit WantToRemove = 0;
bit ReadyToRemove = 0;
bit st = 0;            /* stopped */
byte InUseCount = 2;
byte NumQueuedWorkers = 0;
byte WorkerActive = 0;

#define WRONG st -> assert(false)
#define DROP InUseCount--; if :: InUseCount == 0 -> ReadyToRemove = 1 :: else fi

/* FIRST: ++WorkerActive where it is then one. OTHER: ++WorkerActive where it is not. ENDS, LAST, MORE: --WorkerActive where it
 * is then zero, one, two or more. */
#define FIRST WorkerActive == 0 -> WorkerActive = 1
#if WMODE == 1
#define OTHER WorkerActive != 0
#define ENDS WorkerActive != 0 -> WorkerActive = 0
#define LAST WorkerActive != 0
#define MORE WorkerActive != 0
#elif WMODE == 3
#define OTHER WorkerActive != 0 -> WorkerActive = 2
#define ENDS WorkerActive == 1 -> WorkerActive = 0
#define LAST WorkerActive == 2 -> WorkerActive = 1
#define MORE WorkerActive == 2
#else
#define OTHER WorkerActive != 0 -> WorkerActive++
#define ENDS WorkerActive == 1 -> WorkerActive = 0
#define LAST WorkerActive == 2 -> WorkerActive = 1
#define MORE WorkerActive > 2 -> WorkerActive--
#endif

active proctype Unload() {
  if :: WRONG :: WantToRemove = 1 fi;
  if                                              /* U1 */
  :: WRONG
  :: atomic { FIRST }; goto U2
  :: atomic { OTHER }; goto U5
  fi;
U2:
  if
  :: skip; goto U3
  :: skip; goto U4
  fi;
U3:
  if :: WRONG :: atomic { DROP } fi;
  goto U5;
U4:
  NumQueuedWorkers++;
U5:
  if
  :: WRONG
  :: atomic { InUseCount > 1 -> InUseCount-- }; goto U6
  :: atomic { InUseCount <= 1 -> InUseCount-- }; goto U7
  fi;
U6:
  if :: WRONG :: ReadyToRemove fi;
U7:
  st = 1
}

#if N > 1
active [N - 1] proctype Worker() {
  atomic { NumQueuedWorkers > 0 -> NumQueuedWorkers-- };
V1:
  if
  :: WRONG
  :: WantToRemove -> goto V2
  :: !WantToRemove -> goto VN
  fi;
V2:
  if :: WRONG :: atomic { DROP } fi;
  goto end;
VN:
  if
  :: skip; goto V3
  :: skip; goto V7
  fi;
V3:
  if :: WRONG :: InUseCount++ fi;
  if                                              /* V4 */
  :: WRONG
  :: WantToRemove -> goto V5
  :: !WantToRemove -> goto V6
  fi;
V5:
  if :: WRONG :: InUseCount-- fi;
  goto V7;
V6:
  if :: WRONG :: InUseCount-- fi;
V7:
  if
  :: WRONG
  :: atomic { ENDS }; goto end
  :: atomic { LAST }; goto V1
  :: atomic { MORE }; goto V8
  fi;
V8:
  if :: WRONG :: WorkerActive = 1 fi;
  goto V1;
end:
  skip
}
#endif

active proctype Dispatch() {
#if WMODE == 9
  byte k = 0;
#endif
D0:
#if WMODE == 9
  if
  :: k < N -> k++
  :: else -> goto done
  fi;
#endif
  if
  :: atomic { OTHER }; goto D0
  :: atomic { FIRST }
  fi;
  NumQueuedWorkers++;
  goto D0;
#if WMODE == 9
done:
  skip
#endif
}
