// truth: unsafe
// why: the mutex is given back between the read and the write, so that an addition of others can be lost.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int count;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

//@ performs Inc: <count> m == 0 && count' == count + 1
void increment(void) {
  pthread_mutex_lock(&m);
  int j = count;
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  count = j + 1;
  pthread_mutex_unlock(&m);
}

void *work(void *unused) {
  increment();
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_mutex_lock(&m);
  int sum = count;
  pthread_mutex_unlock(&m);
  assert(sum == 2);
  return 0;
}
// finds: explore reduce horn
