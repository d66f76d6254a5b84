// truth: unsafe
// why: the lowest byte of an address is not known to be zero.
// check: unreach-call
// unmodelled: a part of an address
// source: own

#include <assert.h>

union box { int *p; unsigned char bytes[sizeof(int *)]; } box;
int pad, value;

int main(void) {
  box.p = &value;
  assert(box.bytes[1] == 0);
  return 0;
}
// finds: portfolio
