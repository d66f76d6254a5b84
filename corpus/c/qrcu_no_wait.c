// truth: unsafe
// why: the updater does not wait for the readers of the old counter.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
int idx, ctr1 = 1, ctr2, progress1, progress2;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

_Bool take1(void) {
  _Bool ok;
  __VERIFIER_atomic_begin();
  ok = ctr1 > 0;
  if (ok)
    ctr1++;
  __VERIFIER_atomic_end();
  return ok;
}

_Bool take2(void) {
  _Bool ok;
  __VERIFIER_atomic_begin();
  ok = ctr2 > 0;
  if (ok)
    ctr2++;
  __VERIFIER_atomic_end();
  return ok;
}

int enter(void) {
  while (1) {
    int mine = idx;
    if (mine == 0 ? take1() : take2())
      return mine;
  }
}

void leave(int mine) {
  __VERIFIER_atomic_begin();
  if (mine == 0)
    ctr1--;
  else
    ctr2--;
  __VERIFIER_atomic_end();
}

int sum(void) {
  int s;
  if (__VERIFIER_nondet_bool()) {
    s = ctr1;
    s += ctr2;
  } else {
    s = ctr2;
    s += ctr1;
  }
  return s;
}

void *reader1(void *unused) {
  int mine = enter();
  progress1 = 1;
  progress1 = 2;
  leave(mine);
  return 0;
}

void *reader2(void *unused) {
  int mine = enter();
  progress2 = 1;
  progress2 = 2;
  leave(mine);
  return 0;
}

void *updater(void *unused) {
  int start1 = progress1, start2 = progress2;
  int s = sum();
  if (s <= 1)
    s = sum();
  if (s > 1) {
    pthread_mutex_lock(&mutex);
    if (idx == 0) {
      __VERIFIER_atomic_begin();
      ctr2++;
      __VERIFIER_atomic_end();
      idx = 1;
      __VERIFIER_atomic_begin();
      ctr1--;
      __VERIFIER_atomic_end();
    } else {
      __VERIFIER_atomic_begin();
      ctr1++;
      __VERIFIER_atomic_end();
      idx = 0;
      __VERIFIER_atomic_begin();
      ctr2--;
      __VERIFIER_atomic_end();
      __VERIFIER_assume(ctr2 == 0);
    }
    pthread_mutex_unlock(&mutex);
  }
  if (start1 == 1)
    assert(progress1 != 1);
  if (start2 == 1)
    assert(progress2 != 1);
  return 0;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, reader1, 0);
  pthread_create(&b, 0, reader2, 0);
  pthread_create(&c, 0, updater, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
// finds: explore horn
