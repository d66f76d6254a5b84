// truth: unsafe
// why: between the two sections the other thread may count, and what it wrote is overwritten.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

int count;

void *counts(void *unused) {
  __VERIFIER_atomic_begin();
  int seen = count;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  count = seen + 1;
  __VERIFIER_atomic_end();
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, counts, 0);
  pthread_create(&b, 0, counts, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(count == 2);
  return 0;
}
