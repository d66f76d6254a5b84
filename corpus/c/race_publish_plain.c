// truth: unsafe
// why: the flag itself is plain.
// check: no-data-race
// source: own

#include <assert.h>
#include <pthread.h>

int data, ready;

void *producer(void *unused) {
  data = 42;
  ready = 1;
  return 0;
}

void *consumer(void *unused) {
  if (ready)
    data++;
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
