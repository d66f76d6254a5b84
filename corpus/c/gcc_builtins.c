// truth: safe
// why: the builtins of gcc, a spin lock among them.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x, y;
unsigned char b;
int lock;
long q;

void *w(void *a) {
  while (__sync_lock_test_and_set(&lock, 1)) ;
  y++;
  __sync_lock_release(&lock);
  __sync_fetch_and_add(&x, 1);
  __atomic_add_fetch(&x, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_nand(&b, 0, __ATOMIC_RELAXED);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(y == 2 && x == 4 && b == 255);
  assert(__sync_bool_compare_and_swap(&x, 4, 5) && __sync_val_compare_and_swap(&x, 4, 6) == 5 && x == 5);
  int e = 4;
  assert(!__atomic_compare_exchange_n(&x, &e, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) && e == 5);
  assert(__atomic_exchange_n(&x, 1, __ATOMIC_ACQ_REL) == 5 && __atomic_load_n(&x, __ATOMIC_ACQUIRE) == 1);
  __atomic_store_n(&x, -3, __ATOMIC_RELEASE);
  assert(__sync_sub_and_fetch(&x, 1) == -4 && __sync_or_and_fetch(&x, 3) == -1);
  __sync_synchronize();
  return 0;
}
// finds: explore horn
