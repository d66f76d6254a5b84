// truth: unsafe
// why: whoever finds a mutex taken is ordered after no one (only a lock that succeeds synchronises), so the two accesses of `message` are a race.
// check: no-data-race
// unmodelled: a race that only a lock found taken, which orders nothing, may exclude
// source: own

#include <pthread.h>

pthread_mutex_t sent = PTHREAD_MUTEX_INITIALIZER;
int message, copy;

void *sender(void *unused) {
  message = 7;
  pthread_mutex_lock(&sent);
  return 0;
}

void *receiver(void *unused) {
  if (pthread_mutex_trylock(&sent) == 0)
    pthread_mutex_unlock(&sent);
  else
    copy = message;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, sender, 0);
  pthread_create(&b, 0, receiver, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: portfolio
