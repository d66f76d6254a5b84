// truth: safe
// why: each thread counts for itself.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

static __thread int mine;
_Thread_local int also = 3;

void *work(void *unused) {
  mine++;
  also--;
  assert(mine == 1 && also == 2);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(mine == 0 && also == 3);
  return 0;
}
// finds: explore rely horn
