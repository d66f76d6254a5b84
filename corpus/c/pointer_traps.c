// truth: safe
// why: arithmetic and comparison of pointers.
// check: unreach-call
// source: own

#include <assert.h>
#include <stddef.h>

int a[5] = { 1, 2, 3, 4, 5 };

void swap(int *x, int *y) {
  int t = *x;
  *x = *y;
  *y = t;
}

int main(void) {
  int *p = a, *q = a + 5;
  assert(q - p == 5 && p < q && *(q - 1) == 5 && 2[a] == 3);
  swap(&a[0], &a[4]);
  assert(a[0] == 5 && a[4] == 1);
  int **pp = &p;
  (*pp)++;
  assert(*p == 2);
  *(*pp)++ = 9;
  assert(a[1] == 9 && p == &a[2]);
  ptrdiff_t d = &a[1] - &a[4];
  assert(d == -3);
  char *c = (char *)&a[2];
  assert((int *)(c + 4) == &a[3]);
  void *v = &a[3];
  assert(*(int *)v == 4);
  int (*fp)(int) = 0;
  assert(!fp);
  const int *cp = &a[1];
  assert(*cp == 9);
  int m[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
  int (*r)[3] = m;
  r++;
  assert(r[0][2] == 6 && *(m[1] + 1) == 5 && &m[1][0] - &m[0][0] == 3);
  return 0;
}
// finds: explore rely horn
