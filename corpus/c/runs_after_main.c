// truth: unsafe
// why: the destructor runs when `main` has returned, and by then the thread has counted.
// check: unreach-call
// unmodelled: `atexit`
// source: own

#include <assert.h>
#include <pthread.h>

int count;

__attribute__((destructor)) static void last(void) { assert(count == 0); }

void *thread(void *unused) {
  count = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
