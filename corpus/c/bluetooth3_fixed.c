// truth: safe
// why: the same with two workers.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
int pending = 1;
_Bool stopping_flag, stopping_event, stopped;

void leave(void) {
  int left;
  __VERIFIER_atomic_begin();
  pending = pending - 1;
  left = pending;
  __VERIFIER_atomic_end();
  if (left == 0)
    stopping_event = 1;
}

int enter(void) {
  __VERIFIER_atomic_begin();
  pending++;
  __VERIFIER_atomic_end();
  if (stopping_flag) {
    leave();
    return -1;
  }
  return 0;
}

void *stop(void *unused) {
  stopping_flag = 1;
  leave();
  __VERIFIER_assume(stopping_event);
  stopped = 1;
  return 0;
}

void *add(void *unused) {
  if (enter() == 0) {
    assert(!stopped);
    leave();
  }
  return 0;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, stop, 0);
  pthread_create(&b, 0, add, 0);
  pthread_create(&c, 0, add, 0);
  return 0;
}
// finds: explore horn
