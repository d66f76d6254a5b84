// truth: unsafe
// why: the text has no end, and is read beyond it.
// check: memory-safety
// source: own

#include <stdio.h>

int main(void) {
  char four[4] = {'a', 'b', 'c', 'd'};
  printf("%s\n", four);
  return 0;
}
// finds: portfolio
