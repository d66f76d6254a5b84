// truth: safe
// why: the increments are atomic.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

void *one(void *unused) {
  atomic_fetch_add(&x, 1);
  return 0;
}

void *two(void *unused) {
  x++;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 2);
  return 0;
}
// finds: explore horn
