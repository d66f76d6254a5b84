// truth: unsafe
// why: the second call makes two elements, and the one behind the first is written.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

int *make(int want) {
  static int length;
  length = want;
  return calloc(length, sizeof(int));
}

int *cells;

void *writer(void *unused) {
  cells[1] = 5;
  return 0;
}

int main(void) {
  cells = make(2);
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_join(t, 0);
  assert(cells[1] != 5);
  return 0;
}
// finds: portfolio
