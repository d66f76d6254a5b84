// truth: unsafe
// why: two short factors are multiplied as signed integers.
// check: no-overflow
// source: own

extern unsigned short __VERIFIER_nondet_ushort(void);
int main(void) {
  unsigned short a = __VERIFIER_nondet_ushort();
  unsigned r = a * a;
  return r > 3;
}
// finds: explore
