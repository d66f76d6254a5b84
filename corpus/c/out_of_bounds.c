// truth: unsafe
// why: the index can be one past the end.
// check: memory-safety
// source: own

#include <assert.h>
#include <pthread.h>

int a[2], n;

void *one(void *unused) {
  n++;
  return 0;
}

void *two(void *unused) {
  a[n] = 1;
  n++;
  a[n] = 1;
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
