// truth: unsafe
// why: the second turn of the loop finds what the first wrote through the pointer.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

void *looper(void *unused) {
  int n = 0, *p = &n;
  while (__VERIFIER_nondet_int()) {
    assert(n == 0);
    *p = 1;
  }
  return 0;
}

int main(void) {
  while (__VERIFIER_nondet_int()) {
    pthread_t t;
    pthread_create(&t, 0, looper, 0);
  }
  return 0;
}
// finds: portfolio
