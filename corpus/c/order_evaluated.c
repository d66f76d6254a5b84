// truth: unsafe
// why: the order of the store is named by an expression that counts.
// check: unreach-call
// source: own

#include <assert.h>

int x, c;

int main(void) {
  __atomic_store_n(&x, 1, (++c, __ATOMIC_SEQ_CST));
  __atomic_thread_fence((++c, __ATOMIC_SEQ_CST));
  assert(c != 2);
  return 0;
}
// finds: portfolio
