// truth: safe
// why: runs with another start are cut off.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
int n;

void assume_abort_if_not(int c) {
  if (!c)
    abort();
}

void *work(void *unused) {
  assert(n > 3);
  return 0;
}

int main(void) {
  pthread_t t;
  n = __VERIFIER_nondet_int();
  assume_abort_if_not(n > 3 && n < 10);
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
