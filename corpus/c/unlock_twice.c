// truth: unsafe
// why: the mutex is unlocked twice if the flag was seen.
// check: valid-unlock
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int e;

void *w(void *p) {
  pthread_mutex_lock(&m);
  if (e) pthread_mutex_unlock(&m);
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  pthread_mutex_lock(&m);
  e = 1;
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
