// truth: unsafe
// why: a weak exchange may fail for no reason.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdatomic.h>

atomic_int place;

int main(void) {
  int expected = 0;
  assert(atomic_compare_exchange_weak(&place, &expected, 1));
  return 0;
}
// finds: portfolio
