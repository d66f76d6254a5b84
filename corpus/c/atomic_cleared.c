// truth: unsafe
// why: memset writes the atomic plainly.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

atomic_int n;

void *hitter(void *unused) {
  atomic_fetch_add(&n, 1);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, hitter, 0);
  memset((void *)&n, 0, sizeof n);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
