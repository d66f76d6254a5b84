// truth: unsafe
// why: a store of a bit-field reads the byte and writes it back, so that of two stores to neighbours at once one may be lost; neither mutex keeps them apart.
// check: unreach-call
// unmodelled: bit-fields in the same bytes, stored by two threads at once
// source: own

#include <assert.h>
#include <pthread.h>

struct {
  unsigned open : 4;
  unsigned used : 4;
} flags;
pthread_mutex_t of_open = PTHREAD_MUTEX_INITIALIZER, of_used = PTHREAD_MUTEX_INITIALIZER;

void *opens(void *unused) {
  pthread_mutex_lock(&of_open);
  flags.open = 1;
  pthread_mutex_unlock(&of_open);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, opens, 0);
  pthread_mutex_lock(&of_used);
  flags.used = 1;
  pthread_mutex_unlock(&of_used);
  pthread_join(t, 0);
  assert(flags.open == 1 && flags.used == 1);
  return 0;
}
