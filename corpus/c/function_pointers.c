// truth: safe
// why: the handler is chosen before the threads start.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x;

int twice(int n) {
  return 2 * n;
}

int thrice(int n) {
  return 3 * n;
}

int (*table[2])(int) = { twice, thrice };

void *one(void *unused) {
  x = table[0](2);
  return 0;
}

void *two(void *unused) {
  int (*f)(int) = table[1];
  int y = f(2);
  assert(y == 6);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 4);
  return 0;
}
// finds: explore rely horn
