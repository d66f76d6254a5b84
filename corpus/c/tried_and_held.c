// truth: safe
// why: each of the three counts only where it holds the mutex: it got it by waiting, by a try that gave 0, or by trying until one does.
// check: no-data-race
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count, missed;

void *patient(void *unused) {
  while (pthread_mutex_trylock(&m) != 0)
    ;
  count++;
  pthread_mutex_unlock(&m);
  return 0;
}

void *hasty(void *unused) {
  int busy = pthread_mutex_trylock(&m);
  if (busy) {
    missed = 1;
    return 0;
  }
  count++;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, patient, 0);
  pthread_create(&b, 0, hasty, 0);
  pthread_mutex_lock(&m);
  count += 2;
  pthread_mutex_unlock(&m);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore
