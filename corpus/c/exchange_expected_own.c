// truth: safe
// why: each thread hands a variable of its own to the exchange; what is shared is only accessed atomically.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

atomic_int turn = 5;

void *taker(void *unused) {
  int expected = 0;
  while (!atomic_compare_exchange_strong(&turn, &expected, expected + 1))
    ;
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
