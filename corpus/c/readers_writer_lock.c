// truth: safe
// why: a writer waits until there is neither a writer nor a reader.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
int w, r, x, y;

void *writer(void *unused) {
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(w == 0 && r == 0);
  w = 1;
  __VERIFIER_atomic_end();
  x = 3;
  w = 0;
  return 0;
}

void *reader(void *unused) {
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(w == 0);
  r = r + 1;
  __VERIFIER_atomic_end();
  int l = x;
  y = l;
  assert(y == x);
  __VERIFIER_atomic_begin();
  r = r - 1;
  __VERIFIER_atomic_end();
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  return 0;
}
// finds: explore rely horn
