// truth: safe
// why: the number grows between a thread's read and its test, whoever else adds.
// check: unreach-call
// source: own

extern void abort(void);
void reach_error() {}
void __VERIFIER_assert(int c) { if (!c) { ERROR: reach_error(); abort(); } }
#include <pthread.h>
unsigned int value, m = 0;
void __VERIFIER_atomic_acquire() { __VERIFIER_assume(m == 0); m = 1; }
void __VERIFIER_atomic_release() { __VERIFIER_assume(m == 1); m = 0; }
void *thr(void *arg) {
  unsigned v = 0;
  __VERIFIER_atomic_acquire();
  if (value == 0u - 1) { __VERIFIER_atomic_release(); return 0; }
  v = value;
  value = v + 1;
  __VERIFIER_atomic_release();
  __VERIFIER_assert(value > v);
  return 0;
}
int main() { pthread_t t; while (1) { pthread_create(&t, 0, thr, 0); } }
// finds slowly: count
