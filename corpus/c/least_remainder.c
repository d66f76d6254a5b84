// truth: unsafe
// why: the quotient does not fit, and so the remainder is undefined.
// check: no-overflow
// source: own

#include <limits.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
  int n = INT_MIN, by = __VERIFIER_nondet_int();
  if (by == -1) return n % by;
  return 0;
}
// finds: portfolio
