// truth: unsafe
// why: the time may be over while the reader is inside.
// check: unreach-call
// source: own

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <time.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x, late;
struct timespec ts;

void *w(void *a) {
  if (pthread_rwlock_timedwrlock(&l, &ts)) {
    late = 1;
    return 0;
  }
  x++;
  pthread_rwlock_unlock(&l);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_rwlock_rdlock(&l);
  pthread_create(&t, 0, w, 0);
  pthread_rwlock_unlock(&l);
  pthread_join(t, 0);
  assert(!late);
  return 0;
}
// finds: explore horn
