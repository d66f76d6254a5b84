// truth: safe
// why: one mutex keeps the stores to neighbours apart, so that none is lost.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct {
  unsigned open : 4;
  unsigned used : 4;
} flags;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *opens(void *unused) {
  pthread_mutex_lock(&m);
  flags.open = 1;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, opens, 0);
  pthread_mutex_lock(&m);
  flags.used = 1;
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  assert(flags.open == 1 && flags.used == 1);
  return 0;
}
