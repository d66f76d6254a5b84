// truth: safe
// why: a thread creates another and joins it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x;

void *inner(void *unused) {
  x = 1;
  return 0;
}

void *outer(void *unused) {
  pthread_t t;
  pthread_create(&t, 0, inner, 0);
  pthread_join(t, 0);
  assert(x == 1);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, outer, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
