// truth: safe
// why: a switch that enters a loop in the middle.
// check: unreach-call
// source: own

#include <assert.h>

int main(void) {
  int c = 0, n = 6, k = (n + 3) / 4;
  switch (n % 4) {
    case 0: do {
      c++;
      case 3: c++;
      case 2: c++;
      case 1: c++;
    }
    while (--k > 0);
  }
  assert(c == 6);
  return 0;
}
// finds: explore rely horn
