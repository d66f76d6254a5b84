// truth: unsafe
// why: the thread is detached from the beginning, so waiting for it does not order the writes.
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
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  pthread_t t;
  pthread_create(&t, &a, writer, 0);
  pthread_join(t, 0);
  n = 2;
  return 0;
}
// finds: none
