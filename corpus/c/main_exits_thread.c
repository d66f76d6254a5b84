// truth: unsafe
// why: pthread_exit in main lets the other thread go on.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x;

void *work(void *unused) {
  assert(x == 0);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  x = 1;
  pthread_exit(0);
}
// finds: explore horn
