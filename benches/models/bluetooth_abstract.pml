/* The machines of the Bluetooth driver: one Stop and N - 1 Workers.
 *
 *   (none)   bt_abs   four states each; a worker that is done is a worker that has not begun
 *   -DLINE   bt_abs5  one state for each shared access, and a last one
 * A state's assertion is checked whenever a machine is in it. Idling is left out: it changes nothing.
 */
#ifndef N
#define N 3
#endif

byte pendingIO = 1;
bit stoppingFlag = 0;
bit stoppingEvent = 0;
bit st = 0;            /* stopped */

#ifdef LINE
active proctype Stop() {
  stoppingFlag = 1;
  pendingIO--;
  if
  :: pendingIO == 0 -> stoppingEvent = 1
  :: pendingIO != 0
  fi;
  stoppingEvent;
  st = 1
}

#if N > 1
active [N - 1] proctype Worker() {
  pendingIO++;
  if                                    /* B */
  :: !stoppingFlag -> goto A
  :: pendingIO--; goto E
  fi;
A:
  if
  :: st -> assert(false)
  :: pendingIO--
  fi;
E:
  pendingIO == 0;
  stoppingEvent = 1                     /* D */
}
#endif
#else
active proctype Stop() {
  stoppingFlag = 1;                     /* Q0 */
  pendingIO--;                          /* Q1 */
  (pendingIO == 0 || stoppingEvent);    /* Q2 */
  do                                    /* Q3 */
  :: stoppingEvent = 1
  :: st = 1
  od
}

#if N > 1
active [N - 1] proctype Worker() {
P:
  if
  :: atomic { !stoppingFlag -> pendingIO++ }; goto A
  :: atomic { stoppingFlag -> pendingIO++ }; goto B
  :: pendingIO == 0 -> goto D
  fi;
A:
  if
  :: st -> assert(false)
  :: pendingIO--; goto P
  fi;
B:
  if
  :: !stoppingFlag -> assert(false)
  :: pendingIO--; goto P
  fi;
D:
  stoppingEvent = 1;
  goto D
}
#endif
#endif
