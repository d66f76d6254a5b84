// truth: safe
// why: the flag under the mutex hands the other variable over.
// check: no-data-race
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, y;

void *w(void *q) {
  y = 1;
  pthread_mutex_lock(&m);
  x = 1;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  pthread_mutex_lock(&m);
  int s = x;
  pthread_mutex_unlock(&m);
  if (s == 1) y = 2;
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
