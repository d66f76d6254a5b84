// truth: safe
// why: an atomic flag is a lock.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_flag f = ATOMIC_FLAG_INIT;
int x;

void *work(void *unused) {
  while (atomic_flag_test_and_set(&f))
    ;
  x++;
  atomic_flag_clear(&f);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 2);
  return 0;
}
// finds: explore horn
