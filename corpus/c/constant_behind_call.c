// truth: unsafe
// why: the callee's loop raises the caller's variable through its address.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

void raise(int *at) {
  while (__VERIFIER_nondet_int()) {
    assert(*at < 1);
    *at = *at + 1;
  }
}

void *worker(void *unused) {
  int level = 0;
  raise(&level);
  return 0;
}

int main(void) {
  while (__VERIFIER_nondet_int()) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
  }
  return 0;
}
// finds: portfolio
