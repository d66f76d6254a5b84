// truth: safe
// why: the pointer is read once.
// check: memory-safety
// source: own

#include <assert.h>
#include <pthread.h>

int value = 3;
int *p = &value;

void *one(void *unused) {
  int *q = p;
  if (q != 0)
    *q = 4;
  return 0;
}

void *two(void *unused) {
  p = 0;
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
