// truth: safe
// why: what a pointer points to is not read where its value is printed, and a precision bounds what is read.
// check: memory-safety
// source: own

#include <stdio.h>

int main(void) {
  char four[4] = {'a', 'b', 'c', 'd'};
  char *end = four + 4;
  printf("%p %.4s\n", (void *)end, four);
  return 0;
}
// finds: explore
