// truth: unsafe
// why: without the mutex two of them meet.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);
int inside;

void *work(void *unused) {
  inside = 1;
  assert(inside == 1);
  inside = 0;
  return 0;
}

int main(void) {
  pthread_t t;
  while (__VERIFIER_nondet_int())
    pthread_create(&t, 0, work, 0);
  return 0;
}
// finds: explore
