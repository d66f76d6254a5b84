// truth: unsafe
// why: the struct is freed while the other thread may be about to lock the mutex in it.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>

struct box { pthread_mutex_t m; } *box;

void *locker(void *unused) {
  pthread_mutex_lock(&box->m);
  pthread_mutex_unlock(&box->m);
  return 0;
}

int main(void) {
  box = malloc(sizeof *box);
  pthread_mutex_init(&box->m, 0);
  pthread_t t;
  pthread_create(&t, 0, locker, 0);
  free(box);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
