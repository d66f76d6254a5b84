// truth: unsafe
// why: two readers both count.
// check: no-data-race
// source: own

#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int hits, v;

void *w(void *q) {
  pthread_rwlock_rdlock(&l);
  int r = v;
  hits++;
  pthread_rwlock_unlock(&l);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_rwlock_wrlock(&l);
  v = 1;
  pthread_rwlock_unlock(&l);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
// finds: explore horn
