// truth: safe
// why: unsigned and narrow arithmetic wraps.
// check: no-overflow
// source: own

extern unsigned __VERIFIER_nondet_uint(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern short __VERIFIER_nondet_short(void);

int main(void) {
  unsigned u = __VERIFIER_nondet_uint();
  u = u * u + 7;
  u <<= 5;
  u -= 100;
  unsigned char c = __VERIFIER_nondet_uchar();
  c += 200;
  c *= c;
  short s = __VERIFIER_nondet_short();
  s++;
  s *= 2;
  int i = c * c + s;
  return i > 0;
}
// finds: explore
