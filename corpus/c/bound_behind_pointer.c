// truth: unsafe
// why: the body lowers the loop's bound through a pointer, so the last element is never set.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

void *filler(void *unused) {
  int n = 3, *p = &n, cells[3] = {0, 0, 0};
  for (int i = 0; i < n; i++) {
    cells[i] = 1;
    *p = 1;
  }
  assert(cells[2] == 1);
  return 0;
}

int main(void) {
  while (__VERIFIER_nondet_int()) {
    pthread_t t;
    pthread_create(&t, 0, filler, 0);
  }
  return 0;
}
// finds: portfolio
