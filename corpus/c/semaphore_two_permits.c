// truth: unsafe
// why: a semaphore of two lets two in.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <semaphore.h>
int inside;
sem_t s;

void *work(void *unused) {
  sem_wait(&s);
  inside = 1;
  assert(inside == 1);
  inside = 0;
  sem_post(&s);
  return 0;
}

int main(void) {
  pthread_t a, b;
  sem_init(&s, 0, 2);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
