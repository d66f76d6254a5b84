// truth: unsafe
// why: the second character may be anything that is typed.
// check: unreach-call
// unmodelled: the characters of a text that is read in
// source: own

#include <assert.h>
#include <stdio.h>

char word[8];

int main(void) {
  scanf("%7s", word);
  assert(word[1] == 0);
  return 0;
}
// finds: none
