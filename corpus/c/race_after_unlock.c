// truth: unsafe
// why: what is written after the unlock is not covered by it.
// check: no-data-race
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, y;

void *w(void *q) {
  pthread_mutex_lock(&m);
  x = 1;
  pthread_mutex_unlock(&m);
  y = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  pthread_mutex_lock(&m);
  int s = x;
  pthread_mutex_unlock(&m);
  if (s == 0) y = 2;
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
