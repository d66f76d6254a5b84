// truth: safe
// why: counting bits, checked sums, letters.
// check: unreach-call
// source: own

#include <assert.h>
#include <string.h>
#include <ctype.h>
#include <stdlib.h>

int main(void) {
  int r;
  assert(__builtin_popcount(7) == 3 && __builtin_clz(1) == 31 && __builtin_ctz(8) == 3 && __builtin_ffs(0) == 0);
  assert(!__builtin_add_overflow(1, 2, &r) && r == 3);
  assert(__builtin_mul_overflow(65536, 65536, &r) && r == 0);
  assert(toupper('a') == 'A');
  char *s = "abcd";
  assert(strstr(s, "cd") == s + 2 && abs(-3) == 3);
  return 0;
}
// finds: explore
