// truth: unsafe
// why: the two may fall into the same bucket of the table.
// check: unreach-call
// unmodelled: a number computed from an address
// source: own

#include <assert.h>
#include <stdint.h>

int a, b;

unsigned bucket(void *p) { return (unsigned)((uintptr_t)p * 2654435761u % 7); }

int main(void) {
  assert(bucket(&a) != bucket(&b));
  return 0;
}
// finds: portfolio
