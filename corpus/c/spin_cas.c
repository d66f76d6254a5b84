// truth: safe
// why: a spin lock from compare and swap.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int lock, x;

void acquire(void) {
  while (!__sync_bool_compare_and_swap(&lock, 0, 1))
    ;
}

void release(void) {
  __sync_lock_release(&lock);
}

void *work(void *unused) {
  acquire();
  x = 1;
  assert(x == 1);
  x = 0;
  release();
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
