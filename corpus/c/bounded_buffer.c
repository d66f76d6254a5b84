// truth: safe
// why: the count is between zero and the size whenever the mutex is free.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#define SIZE 2
int buffer[SIZE], count;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

void *producer(void *unused) {
  for (int i = 1; i <= 3; i++) {
    pthread_mutex_lock(&m);
    while (count == SIZE)
      pthread_cond_wait(&not_full, &m);
    assert(count < SIZE);
    buffer[count++] = i;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&m);
  }
  return 0;
}

void *consumer(void *unused) {
  for (int i = 1; i <= 3; i++) {
    pthread_mutex_lock(&m);
    while (count == 0)
      pthread_cond_wait(&not_empty, &m);
    int v = buffer[--count];
    assert(v >= 1 && v <= 3);
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&m);
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
