// truth: unsafe
// why: the array is freed while the worker may still write its last element.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>

int *row;

void *work(void *a) {
  row[19] = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  row = malloc(20 * sizeof(int));
  pthread_create(&t, 0, work, 0);
  free(row);
  return 0;
}
// finds: explore horn
