// truth: unsafe
// why: testing and setting the lock in two steps lets both in.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int lock, x;

void *work(void *unused) {
  while (lock != 0)
    ;
  lock = 1;
  x = 1;
  assert(x == 1);
  x = 0;
  lock = 0;
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
