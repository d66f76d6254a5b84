// truth: unsafe
// why: a detached thread cannot be waited for, so both may write at once.
// check: no-data-race
// unmodelled: waiting for a thread that may be detached
// source: own

#include <pthread.h>

int n;

void *writer(void *unused) {
  n = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_detach(t);
  pthread_join(t, 0);
  n = 2;
  return 0;
}
// finds: none
