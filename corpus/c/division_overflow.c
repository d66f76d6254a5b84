// truth: unsafe
// why: the least integer divided by -1.
// check: no-overflow
// source: own

#include <limits.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
  int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
  if (b == 0) return 0;
  if (a > 0) return 0;
  int c = a / b;
  return c > 3;
}
// finds: explore
