// truth: safe
// why: every atomic operation is one step, and narrow ones wrap.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;
_Atomic unsigned char c;
atomic_flag f = ATOMIC_FLAG_INIT;
int plain;
_Atomic(long) l = 5;
atomic_bool ab;

void *w(void *a) {
  while (atomic_flag_test_and_set_explicit(&f, memory_order_acquire)) ;
  plain++;
  atomic_flag_clear_explicit(&f, memory_order_release);
  atomic_fetch_add_explicit(&x, 2, memory_order_relaxed);
  c += 200;
  l++;
  int e = 0;
  if (atomic_compare_exchange_strong(&ab, &(_Bool){0}, 1)) atomic_fetch_sub(&x, 1);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(plain == 2);
  assert(atomic_load(&x) == 3);
  assert(c == 144);
  assert(l == 7);
  assert(atomic_exchange(&x, 9) == 3 && x == 9);
  assert(atomic_fetch_or(&x, 6) == 9 && x == 15 && atomic_fetch_xor(&x, 5) == 15 && atomic_fetch_and(&x, 3) == 10 && x == 2);
  return 0;
}
// finds: explore horn
