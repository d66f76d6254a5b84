// truth: unsafe
// check: unreach-call
// Results of any number of threads, joined one by one: the second one is too large.
#include <pthread.h>
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int n;
void *t(void *x) {
  int k = n;
  n = k + 1;
  return (void*)(long)k;
}

int main() {
  pthread_t p;
  void *r;
  while (__VERIFIER_nondet_int()) {
    pthread_create(&p, 0, t, 0);
    pthread_join(p, &r);
    assert((long)r < 1);
  }
  return 0;
}
// finds: explore
