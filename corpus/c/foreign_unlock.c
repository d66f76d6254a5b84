// truth: unsafe
// why: a thread unlocks a mutex that the other may hold.
// check: valid-unlock
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;

void *other(void *arg) {
  if (x)
    pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  pthread_mutex_lock(&m);
  x = 1;
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
