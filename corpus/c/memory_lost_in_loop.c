// truth: unsafe
// why: one turn of three does not give it back.
// check: valid-memsafety
// source: own

#include <stdlib.h>

int main(void) {
  for (int i = 0; i < 3; i++) {
    int *p = malloc(4);
    *p = i;
    if (i != 1) free(p);
  }
  return 0;
}
// finds: explore horn
