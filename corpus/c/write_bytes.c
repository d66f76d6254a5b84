// truth: safe
// why: four bytes are written out, and four there are.
// check: memory-safety
// source: own

#include <unistd.h>

int main(void) {
  char four[4] = {'a', 'b', 'c', 'd'};
  write(1, four, 4);
  return 0;
}
// finds: explore
