// truth: safe
// why: a character never reaches 257.
// check: unreach-call
// source: own

#include <assert.h>

int a[4];

int main(void) {
  for (unsigned char i = 250; i < 257; i++) a[i % 4]++;
  assert(0);
  return 0;
}
// finds: rely horn
