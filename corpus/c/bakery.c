// truth: safe
// why: Lamport's bakery for two threads, one round each.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

_Bool choosing1, choosing2;
unsigned n1, n2;
int x;

void *one(void *unused) {
  choosing1 = 1;
  n1 = n2 + 1;
  choosing1 = 0;
  while (choosing2)
    ;
  while (n2 != 0 && n2 < n1)
    ;
  x = 0;
  assert(x <= 0);
  n1 = 0;
  return 0;
}

void *two(void *unused) {
  choosing2 = 1;
  n2 = n1 + 1;
  choosing2 = 0;
  while (choosing1)
    ;
  while (n1 != 0 && n1 <= n2)
    ;
  x = 1;
  assert(x >= 1);
  n2 = 0;
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
// finds: explore
