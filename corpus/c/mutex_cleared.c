// truth: unsafe
// why: memset writes the mutex while the other thread may be about to lock it.
// check: no-data-race
// source: own

#include <pthread.h>
#include <string.h>

pthread_mutex_t m;

void *locker(void *unused) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, locker, 0);
  memset(&m, 0, sizeof m);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
