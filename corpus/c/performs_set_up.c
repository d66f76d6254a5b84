// truth: safe
// why: main sets up before it creates a thread, and looks when all have ended; the rest is under the mutex.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

//@ performs Added: <count> m == 0 && count' == count + by && result == count
int add(int by) {
  pthread_mutex_lock(&m);
  int old = count;
  count = old + by;
  pthread_mutex_unlock(&m);
  return old;
}

void *work(void *unused) {
  add(2);
  return 0;
}

int main(void) {
  pthread_t t;
  count = 5;
  pthread_create(&t, 0, work, 0);
  add(1);
  pthread_join(t, 0);
  assert(count == 8);
  return 0;
}
// finds: portfolio
