// truth: unsafe
// why: which of the two lies first is the machine's choice.
// check: unreach-call
// unmodelled: the order of the addresses of different objects
// source: own

#include <assert.h>

int first, second;

int main(void) {
  int *p = &first, *q = &second;
  assert(p < q);
  return 0;
}
// finds: none
