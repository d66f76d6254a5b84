// truth: unsafe
// why: where the two variables lie is the machine's choice, so both may be guarded by the same stripe, and then they are; else a thread takes one stripe twice.
// check: no-deadlock
// unmodelled: a number computed from an address
// source: own

#include <pthread.h>
#include <stdint.h>

int x, y;
pthread_mutex_t stripes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

pthread_mutex_t *stripe(int *p) { return &stripes[((uintptr_t)p >> 4) & 1]; }

void *both(void *unused) {
  pthread_mutex_lock(stripe(&x));
  pthread_mutex_lock(stripe(&y));
  x++, y++;
  pthread_mutex_unlock(stripe(&y));
  pthread_mutex_unlock(stripe(&x));
  return 0;
}

int main(void) {
  pthread_t a;
  pthread_create(&a, 0, both, 0);
  pthread_join(a, 0);
  return 0;
}
// finds: portfolio
