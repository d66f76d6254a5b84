// truth: unsafe
// why: the write through the pointer to int is a plain one.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

atomic_int n;

void *plain(void *unused) {
  *(int *)&n = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, plain, 0);
  atomic_store(&n, 2);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
