// truth: unsafe
// why: the old address is used after it was given back.
// check: memory-safety
// source: own

#include <stdlib.h>

int main(void) {
  int *v = malloc(2 * sizeof *v);
  v[0] = 1;
  int *w = realloc(v, 4 * sizeof *w);
  w[3] = 2;
  v[0] = 3;
  free(w);
  return 0;
}
// finds: explore horn
