// truth: unsafe
// why: the other member of the union is accessed plainly.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

union { atomic_int a; int p; } u;

void *plain(void *unused) {
  u.p = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, plain, 0);
  atomic_fetch_add(&u.a, 2);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
