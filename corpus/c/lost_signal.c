// truth: unsafe
// why: the waiter tests the flag before it takes the mutex: the only signal may come in between, and nobody signals again.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int done;

void *producer(void *arg) {
  pthread_mutex_lock(&m);
  done = 1;
  pthread_mutex_unlock(&m);
  pthread_cond_signal(&ready);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, producer, 0);
  if (!done) {
    pthread_mutex_lock(&m);
    pthread_cond_wait(&ready, &m);
    pthread_mutex_unlock(&m);
  }
  pthread_join(t, 0);
  return 0;
}
// finds: explore
