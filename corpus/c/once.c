// truth: safe
// why: the initialiser runs once, and everyone waits for its end.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

void init(void) {
  value = value + 5;
}

void *work(void *unused) {
  pthread_once(&once, init);
  assert(value == 5);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
