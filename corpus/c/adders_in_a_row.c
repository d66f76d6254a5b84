// truth: unsafe
// why: if all twenty threads run one after the other, no addition is lost.
// check: unreach-call
// source: own

#include <pthread.h>
extern void reach_error(void);
extern unsigned __VERIFIER_nondet_uint(void);
extern void __VERIFIER_assume(int);

volatile int sum, n;

void *add(void *unused) {
  int old = sum;
  sum = old + 1;
  return 0;
}

void *watch(void *unused) {
  if (sum >= n) reach_error();
  return 0;
}

int main(void) {
  pthread_t t;
  n = __VERIFIER_nondet_uint();
  __VERIFIER_assume(n >= 15 && n <= 20);
  pthread_create(&t, 0, watch, 0);
  for (int i = 0; i < n; i++) pthread_create(&t, 0, add, 0);
  return 0;
}
// finds: portfolio
