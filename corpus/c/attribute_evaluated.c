// truth: unsafe
// why: the attributes are named by an expression that counts.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int calls;
pthread_attr_t *attributes(void) {
  calls++;
  return 0;
}

void *t(void *unused) { return 0; }

int main(void) {
  pthread_t a;
  pthread_create(&a, attributes(), t, 0);
  pthread_join(a, 0);
  assert(calls == 0);
  return 0;
}
// finds: portfolio
