// truth: safe
// why: jumps into loops and switches across loops.
// check: unreach-call
// source: own

#include <assert.h>

int main(void) {
  int i = 0, s = 0;
  goto in;
  while (i < 3) {
    s += 10;
    in: s++;
    i++;
  }
  assert(s == 23 && i == 3);
  for (i = 0; i < 5; i++) {
    if (i == 1) continue;
    if (i == 3) break;
    s += i;
  }
  assert(s == 25 && i == 3);
  int n = 7;
  do switch (n % 4) {
    case 0: n--;
    case 3: n--;
    case 2: n--;
    case 1: n--;
  }
  while (n > 0);
  assert(n == 0);
  return 0;
}
// finds: explore rely horn
