// truth: safe
// why: compound literals, designators, statement expressions.
// check: unreach-call
// source: own

#include <assert.h>

struct p { int x, y; };

int f(struct p *q) {
  return q->x * 10 + q->y;
}

int g(int n, int a[n]) {
  int s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}

int main(void) {
  assert(f(&(struct p){ 3, 4 }) == 34);
  assert(g(3, (int[]){ 1, 2, 3 }) == 6);
  int *p = (int[2]){
    5
  }
  ;
  assert(p[0] == 5 && p[1] == 0);
  struct p a[] = { [1] = { .y = 2 }, { 7 } };
  assert(sizeof a / sizeof *a == 3 && a[1].y == 2 && a[2].x == 7 && a[0].x == 0);
  int x = 3;
  x += x++ * 0 + 1;
  typeof(x) z = 4;
  assert(({ int t = z; t + 1; }) == 5);
  int n = 3;
  switch (n) {
    int k;
    case 3: k = 9;
    assert(k == 9);
  }
  return 0;
}
// finds: explore rely horn
