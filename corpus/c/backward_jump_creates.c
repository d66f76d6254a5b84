// truth: unsafe
// why: the jump back creates a second adder while the first runs.
// check: no-data-race
// source: own

#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

int total;

void *adder(void *unused) {
  total++;
  return 0;
}

int main(void) {
  pthread_t a;
#line 90
again:
  pthread_create(&a, 0, adder, 0);
#line 10
  if (__VERIFIER_nondet_int()) goto again;
  return 0;
}
// finds: portfolio
