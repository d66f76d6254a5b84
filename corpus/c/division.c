// truth: unsafe
// why: the divisor is tested, and another thread sets it to zero before it is used.
// check: no-division-by-zero
// source: own

#include <pthread.h>

int divisor = 2, quotient;

void *other(void *arg) {
  divisor = 0;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  if (divisor != 0)
    quotient = 10 / divisor;
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
