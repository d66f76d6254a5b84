// truth: safe
// why: the flag is tested and set under the mutex: either the waiter sees it, or it waits before the signal comes.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int done;

void *producer(void *arg) {
  pthread_mutex_lock(&m);
  done = 1;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, producer, 0);
  pthread_mutex_lock(&m);
  while (!done)
    pthread_cond_wait(&ready, &m);
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
// finds: explore
