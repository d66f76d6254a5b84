// truth: safe
// why: the post comes after the write and the wait before the read.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <semaphore.h>
int data;
sem_t full;

void *producer(void *unused) {
  data = 42;
  sem_post(&full);
  return 0;
}

void *consumer(void *unused) {
  sem_wait(&full);
  assert(data == 42);
  return 0;
}

int main(void) {
  pthread_t a, b;
  sem_init(&full, 0, 0);
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore rely horn
