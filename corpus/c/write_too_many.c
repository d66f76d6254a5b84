// truth: unsafe
// why: eight bytes are written out of an int.
// check: memory-safety
// source: own

#include <unistd.h>

int main(void) {
  int number = 1;
  write(1, &number, 8);
  return 0;
}
// finds: portfolio
