// truth: unsafe
// why: a consumer tests with if: two that wait can both wake for one item.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t more = PTHREAD_COND_INITIALIZER;
int items;

void *producer(void *arg) {
  pthread_mutex_lock(&m);
  if (items < 1000)
    items++;
  pthread_cond_signal(&more);
  pthread_mutex_unlock(&m);
  return 0;
}

void *consumer(void *arg) {
  pthread_mutex_lock(&m);
  if (items == 0)
    pthread_cond_wait(&more, &m);
  items--;
  assert(items >= 0);
  pthread_mutex_unlock(&m);
  return 0;
}

extern int __VERIFIER_nondet_int(void);

int main(void) {
  pthread_t t;
  while (__VERIFIER_nondet_int()) {
    pthread_create(&t, 0, producer, 0);
    pthread_create(&t, 0, consumer, 0);
  }
  return 0;
}
// finds: explore
