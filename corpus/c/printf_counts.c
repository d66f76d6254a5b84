// truth: unsafe
// why: the format stores how many characters it has written.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdio.h>

int main(void) {
  int n = 0;
  printf("abc%n\n", &n);
  assert(n == 0);
  return 0;
}
// finds: portfolio
