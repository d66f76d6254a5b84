// truth: unsafe
// why: the least integer has no absolute value.
// check: no-overflow
// source: own

#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
  int a = __VERIFIER_nondet_int();
  return abs(a) == 3;
}
// finds: explore horn
