/* N producers and N consumers share a buffer of CAP places, guarded by a lock; each handles K items. */
#ifndef N
#define N 2
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef K
#define K 2
#endif

bit lock = 0;
byte count = 0;
byte produced = 0;
byte consumed = 0;

proctype Producer() {
  byte i = 0;
  do
  :: i < K ->
again:
     atomic { lock == 0 -> lock = 1 };
     if
     :: count == CAP -> lock = 0; goto again
     :: else -> skip
     fi;
     count++;
     produced++;
     assert(count <= CAP);
     lock = 0;
     i++
  :: else -> break
  od
}

proctype Consumer() {
  byte i = 0;
  do
  :: i < K ->
again:
     atomic { lock == 0 -> lock = 1 };
     if
     :: count == 0 -> lock = 0; goto again
     :: else -> skip
     fi;
     count--;
     consumed++;
     assert(consumed <= produced);
     lock = 0;
     i++
  :: else -> break
  od
}

init {
  byte i = 0;
  atomic {
    do
    :: i < N -> run Producer(); run Consumer(); i++
    :: else -> break
    od
  }
}
