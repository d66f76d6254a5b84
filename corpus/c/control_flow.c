// truth: safe
// why: switch, goto, do and continue do what C says.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int step(int n) {
  switch (n) {
  case 0:
    return 5;
  case 1:
    n++;
    /* falls through */
  case 2:
    n += 10;
    break;
  case 3 ... 5:
    n = 0;
  default:
    n--;
  }
  return n;
}

int main(void) {
  assert(step(0) == 5 && step(1) == 12 && step(2) == 12 && step(4) == -1 && step(9) == 8);
  int i = 0, sum = 0;
again:
  if (i < 5) {
    i++;
    if (i == 3)
      goto again;
    sum += i;
    goto again;
  }
  assert(sum == 12);
  do {
    sum--;
    if (sum % 2)
      continue;
  } while (sum > 0);
  assert(sum == 0);
  int z = sum ?: 9;
  assert(z == 9);
  return 0;
}
// finds: explore rely horn
