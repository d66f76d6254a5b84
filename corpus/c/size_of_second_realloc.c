// truth: safe
// why: the row has grown to the number of elements that the variable has by then; all accesses are inside.
// check: memory-safety
// source: own

#include <pthread.h>
#include <stdlib.h>

int length = 1;
int *row;

void *grow(void *unused) {
  length = 2;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, grow, 0);
  pthread_join(t, 0);
  row = malloc(length * sizeof(int));
  row[length - 1] = 3;
  free(row);
  return 0;
}
// finds: explore
