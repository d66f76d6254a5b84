// truth: unsafe
// why: of the result of a comparison only the sign is promised.
// check: unreach-call
// source: own

#include <assert.h>
#include <string.h>

int main(void) {
  char a[] = "a", c[] = "c";
  assert(strcmp(a, c) == -2);
  return 0;
}
// finds: portfolio
