// truth: safe
// why: tickets are taken and compared in one step each.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
int y1, y2, x;

void *one(void *unused) {
  __VERIFIER_atomic_begin();
  y1 = y2 + 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(y2 == 0 || y1 <= y2);
  __VERIFIER_atomic_end();
  x = 0;
  assert(x <= 0);
  y1 = 0;
  return 0;
}

void *two(void *unused) {
  __VERIFIER_atomic_begin();
  y2 = y1 + 1;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(y1 == 0 || y2 < y1);
  __VERIFIER_atomic_end();
  x = 1;
  assert(x >= 1);
  y2 = 0;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
