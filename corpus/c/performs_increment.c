// truth: safe
// why: each function does under the mutex what its comment says, and nothing else.
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
  count = j + 1;
  pthread_mutex_unlock(&m);
}

//@ performs Full: <> m == 0 && count >= 10 && result == 0
//@       [] Added: <count> m == 0 && count < 10 && count' == count + by && result == 1
int add(int by) {
  int done = 0;
  pthread_mutex_lock(&m);
  if (count < 10) {
    count += by;
    done = 1;
  }
  pthread_mutex_unlock(&m);
  return done;
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
  int added = add(1);
  assert(added == 1);
  return 0;
}
// finds slowly: portfolio
