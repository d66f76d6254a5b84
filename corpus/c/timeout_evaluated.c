// truth: unsafe
// why: the time until which to wait is named by an expression that counts.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

int calls;
struct timespec late;
struct timespec *until(void) {
  calls++;
  return &late;
}

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
sem_t s;

int main(void) {
  sem_init(&s, calls++, 1);
  pthread_mutex_timedlock(&m, until());
  sem_timedwait(&s, until());
  assert(calls != 3);
  return 0;
}
// finds: portfolio
