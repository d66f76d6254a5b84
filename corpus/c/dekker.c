// truth: safe
// why: Dekker: a thread that waits for its turn has lowered its flag and raises it again.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

_Bool a1, a2, t;
int x;

void *one(void *unused) {
  for (int round = 0; round < 2; round++) {
  a1 = 1;
  while (a2) {
    if (t != 0) {
      a1 = 0;
      while (t != 0)
        ;
      a1 = 1;
    }
  }
  x = 0;
  assert(x <= 0);
  t = 1;
  a1 = 0;
  }
  return 0;
}

void *two(void *unused) {
  for (int round = 0; round < 2; round++) {
  a2 = 1;
  while (a1) {
    if (t != 1) {
      a2 = 0;
      while (t != 1)
        ;
      a2 = 1;
    }
  }
  x = 1;
  assert(x >= 1);
  t = 0;
  a2 = 0;
  }
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
