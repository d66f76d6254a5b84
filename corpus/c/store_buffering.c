// truth: safe
// why: one of two must see the other.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

volatile int a, b;
int r1, r2;

void *w(void *q) {
  a = 1;
  r1 = b;
  return 0;
}

void *v(void *q) {
  b = 1;
  r2 = a;
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, v, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(r1 == 1 || r2 == 1);
  return 0;
}
// finds: explore horn
