// truth: unsafe
// why: both exchanges fail, and each writes what it found to the one variable, which is a plain access whatever the type of the atomic.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

atomic_int turn = 5;
int expected;

void *taker(void *unused) {
  atomic_compare_exchange_strong(&turn, &expected, 2);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, taker, 0);
  pthread_create(&b, 0, taker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
