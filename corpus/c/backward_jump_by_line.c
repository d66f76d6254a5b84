// truth: unsafe
// why: the jump goes back to the label, whatever the numbers of the lines say, and the second turn finds what the first has set.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

void *t(void *unused) {
  int seen = 0;
#line 90
again:
  assert(seen == 0);
  seen = 1;
#line 10
  if (__VERIFIER_nondet_int()) goto again;
  return 0;
}

int main(void) {
  pthread_t a;
  pthread_create(&a, 0, t, 0);
  pthread_join(a, 0);
  return 0;
}
// finds: portfolio
