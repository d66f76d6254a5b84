// truth: safe
// why: stretches that overlap, and bytes that make integers.
// check: unreach-call
// source: own

#include <assert.h>
#include <string.h>

int main(void) {
  int a[4] = { 1, 2, 3, 4 };
  memmove(a + 1, a, 3 * sizeof *a);
  assert(a[0] == 1 && a[1] == 1 && a[2] == 2 && a[3] == 3);
  memmove(a, a + 2, 2 * sizeof *a);
  assert(a[0] == 2 && a[1] == 3);
  int f[3];
  memset(f, 0xff, sizeof f);
  assert(f[0] == -1 && f[2] == -1);
  unsigned short h[2];
  memset(h, 1, sizeof h);
  assert(h[1] == 257);
  return 0;
}
// finds: explore rely horn
