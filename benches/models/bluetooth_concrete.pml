/* The Bluetooth driver of Abstract Threads, figure 4: one stopper and N - 1 workers.
 *
 * One line of the figure is one step with at most one shared access. Variants:
 *   (none)    bt_con         as written; a worker's status keeps its last value to the end
 *   -DDEAD    bt_con_dead    status is reset where it is no longer read
 *   -DSHARED  bt_con_shared  steps that touch no shared variable are folded into the one before
 * spin -a -DN=5 bluetooth_concrete.pml; gcc -O2 -DSAFETY -o pan pan.c; ./pan -E -n -m20000
 */
#ifndef N
#define N 3
#endif

byte pendingIO = 1;
bit stoppingFlag = 0;
bit stoppingEvent = 0;
bit st = 0;            /* stopped */

active proctype PnpStop() {
  stoppingFlag = 1;
  pendingIO--;
  if
  :: pendingIO == 0 -> stoppingEvent = 1
  :: else
  fi;
  stoppingEvent;
  st = 1
}

#ifdef SHARED
#if N > 1
active [N - 1] proctype PnpAdd() {
  pendingIO++;
  if
  :: stoppingFlag -> goto leave
  :: else -> goto work
  fi;
work:
  if
  :: st -> assert(false)
  :: else
  fi;
leave:
  pendingIO--;
  if
  :: pendingIO == 0 -> stoppingEvent = 1
  :: else
  fi
}
#endif
#else
#if N > 1
active [N - 1] proctype PnpAdd() {
  short status = 0;
  pendingIO++;
  if
  :: stoppingFlag -> status = -1
  :: else -> status = 1
  fi;
  if
  :: status > 0 ->
#ifdef DEAD
     atomic { assert(!st); status = 0 }
#else
     assert(!st)
#endif
#ifdef DEAD
  :: atomic { else -> status = 0 }
#else
  :: else
#endif
  fi;
  pendingIO--;
  if
  :: pendingIO == 0 -> stoppingEvent = 1
  :: else
  fi
}
#endif
#endif
