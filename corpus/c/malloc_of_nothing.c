// truth: unsafe
// why: memory of no bytes may not be used.
// check: memory-safety
// source: own

#include <stdlib.h>

int wanted;

int main(void) {
  int *row = malloc(wanted * sizeof(int));
  row[0] = 1;
  free(row);
  return 0;
}
// finds: portfolio
