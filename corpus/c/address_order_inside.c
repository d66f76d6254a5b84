// truth: safe
// why: inside one array addresses are ordered as the elements are, and the mutexes are taken in that order.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

void transfer(pthread_mutex_t *a, pthread_mutex_t *b) {
  pthread_mutex_t *low = a < b ? a : b, *high = a < b ? b : a;
  pthread_mutex_lock(low);
  pthread_mutex_lock(high);
  pthread_mutex_unlock(high);
  pthread_mutex_unlock(low);
}

void *forth(void *unused) {
  transfer(&locks[0], &locks[1]);
  return 0;
}

void *back(void *unused) {
  transfer(&locks[1], &locks[0]);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, forth, 0);
  pthread_create(&b, 0, back, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore
