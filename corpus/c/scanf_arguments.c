// truth: unsafe
// why: the stream is named by an expression that counts, and the text is longer than one character.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdio.h>

int calls;
FILE *in(void) {
  calls++;
  return stdin;
}

int main(void) {
  int n = 3;
  fscanf(in(), "%d", &n);
  assert(calls == 0 || n == 3);
  return 0;
}
// finds: explore horn
