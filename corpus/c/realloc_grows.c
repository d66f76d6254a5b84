// truth: safe
// why: what was there moves along.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdlib.h>

int main(void) {
  int n = 0, cap = 2;
  int *v = malloc(cap * sizeof *v);
  for (int i = 0; i < 6; i++) {
    if (n == cap) {
      cap *= 2;
      v = realloc(v, cap * sizeof *v);
    }
    v[n++] = i * i;
  }
  int s = 0;
  for (int i = 0; i < n; i++) s += v[i];
  assert(s == 55);
  free(v);
  int *p = realloc(0, 4);
  *p = 3;
  assert(*p == 3);
  free(p);
  return 0;
}
// finds: explore rely horn
