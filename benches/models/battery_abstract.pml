/* The machines of the Battery driver: one Unload, N - 1 Workers, and Dispatch, which is its own machine.
 *
 *   (none)   bat_abs   three states of a worker, four of Unload
 *   -DLINE   bat_abs4  a last state of a worker, one state of Unload for each shared access
 * Of WorkerActive only whether it is positive is kept, as in the concrete model.
 */
#ifndef N
#define N 3
#endif

bit WantToRemove = 0;
bit ReadyToRemove = 0;
bit st = 0;            /* stopped */
byte InUseCount = 2;
byte NumQueuedWorkers = 0;
bit WorkerActive = 0;

#define DROP InUseCount--; if :: InUseCount == 0 -> ReadyToRemove = 1 :: else fi

#ifdef LINE
active proctype Unload() {
  if :: st -> assert(false) :: WantToRemove = 1 fi;
  if                                                            /* U1 */
  :: st -> assert(false)
  :: atomic { WorkerActive == 0 -> WorkerActive = 1 }; goto U2
  :: WorkerActive != 0 -> goto U3
  fi;
U2:
  if
  :: st -> assert(false)
  :: atomic { DROP }
  :: NumQueuedWorkers++
  fi;
U3:
  if
  :: st -> assert(false)
  :: atomic { InUseCount > 1 -> InUseCount-- }; goto U4
  :: atomic { InUseCount <= 1 -> InUseCount-- }; goto U5
  fi;
U4:
  if :: st -> assert(false) :: ReadyToRemove fi;
U5:
  st = 1
}

#if N > 1
active [N - 1] proctype Worker() {
  atomic { NumQueuedWorkers > 0 -> NumQueuedWorkers-- };
W1:
  if
  :: st -> assert(false)
  :: InUseCount++; goto W2
  :: atomic { DROP }; goto WE
  :: atomic { WorkerActive != 0 -> WorkerActive = 0 }; goto WE
  :: WorkerActive != 0 -> goto W1
  :: WorkerActive = 1; goto W1
  fi;
W2:
  if :: st -> assert(false) :: InUseCount-- fi;
  goto W1;
WE:
  skip
}
#endif
#else
active proctype Unload() {
X:
  if
  :: st -> assert(false)
  :: WantToRemove = 1; goto X
  :: WorkerActive != 0 -> goto X
  :: atomic { WorkerActive == 0 -> WorkerActive = 1 }; goto U2
  :: atomic { InUseCount > 1 -> InUseCount-- }; goto U3
  :: atomic { InUseCount <= 1 -> InUseCount-- }; goto U4
  fi;
U2:
  if
  :: st -> assert(false)
  :: atomic { DROP }; goto X
  :: NumQueuedWorkers++; goto X
  fi;
U3:
  if :: st -> assert(false) :: ReadyToRemove fi;
U4:
  st = 1;
  goto U4
}

#if N > 1
active [N - 1] proctype Worker() {
W0:
  atomic { NumQueuedWorkers > 0 -> NumQueuedWorkers-- };
W1:
  if
  :: st -> assert(false)
  :: InUseCount++; goto W2
  :: atomic { DROP }; goto W0
  :: atomic { WorkerActive != 0 -> WorkerActive = 0 }; goto W0
  :: WorkerActive != 0 -> goto W1
  :: WorkerActive = 1; goto W1
  fi;
W2:
  if :: st -> assert(false) :: InUseCount-- fi;
  goto W1
}
#endif
#endif

active proctype Dispatch() {
D0:
  if
  :: WorkerActive != 0 -> goto D0
  :: atomic { WorkerActive == 0 -> WorkerActive = 1 }
  fi;
  NumQueuedWorkers++;
  goto D0
}
