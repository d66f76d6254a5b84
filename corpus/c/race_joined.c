// truth: safe
// why: the join orders the accesses.
// check: no-data-race
// source: own

#include <assert.h>
#include <pthread.h>

int x;

void *work(void *unused) {
  x = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  x = 5;
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  x = 2;
  return 0;
}
// finds: explore
