// truth: safe
// why: halves of small integers are exact.
// check: unreach-call
// source: own

#include <assert.h>

extern int __VERIFIER_nondet_int(void);

float avg(int a, int b) {
  return (a + b) / 2.0f;
}

int main(void) {
  int a = __VERIFIER_nondet_int();
  if (a < 0 || a > 100) return 0;
  float f = avg(a, 10);
  assert(f >= 5 && f <= 55);
  double u;
  double x[3] = {1, 2.5};
  assert(x[2] == 0 && x[1] > x[0]);
  struct { float x, y; } p = { .y = 2 }, q = p;
  assert(q.y == 2 && q.x == 0);
  return 0;
}
// finds: explore rely horn
