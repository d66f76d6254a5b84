// truth: safe
// why: the first word is 12, and the number ends where the word does.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char text[] = "12,a";
  char *rest, *end;
  char *word = strtok_r(text, ",", &rest);
  long number = strtol(word, &end, 10);
  assert(number == 12 && end == word + 2 && *rest == 'a');
  return 0;
}
// finds: explore
