// truth: safe
// why: the loop tries until its own exchange succeeds.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

void *work(void *unused) {
  int old = atomic_load(&x);
  while (!atomic_compare_exchange_weak(&x, &old, old + 1))
    ;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 2);
  return 0;
}
// finds: explore
