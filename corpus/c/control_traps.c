// truth: safe
// why: short circuits, fall-through, jumps and static locals.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int calls;

int t(int r) {
  calls++;
  return r;
}

enum e { A = -1, B, C = 5, D } ;
static const int tab[3][4] = { { 1, 2 }, [2] = { [3] = 9 } };

int next(void) {
  static int n = 10;
  return n++;
}

int (*fs[])(int) = { t, 0 };

int g(int n) {
  int r = 0;
  switch (n) {
    case 0: r += 1;
    case 1: r += 10;
    break;
    case 5 ... 7: r = 50;
    default: r += 100;
  }
  return r;
}

int sum(int n) {
  int s = 0;
  again: if (n <= 0) goto out;
  s += n--;
  goto again;
  out: return s;
}

int main(void) {
  assert(!(t(0) && t(1)) && calls == 1);
  assert((t(1) || t(1)) && calls == 2);
  int x = (t(1), t(7));
  assert(x == 7 && calls == 4);
  x = t(0) ? t(1), 5 : 6;
  assert(x == 6 && calls == 5);
  assert(g(0) == 11 && g(1) == 10 && g(6) == 150 && g(9) == 100);
  assert(sum(4) == 10);
  int i = 0;
  do {
    if (i == 2) continue;
    i++;
    if (i > 5) break;
  }
  while (i != 2 && i < 10);
  assert(i == 2);
  for (i = 0;; i++) {
    switch (i) {
      case 3: goto done;
      default: continue;
    }
  }
  done: assert(i == 3);
  assert(A < 0 && B == 0 && D == 6);
  enum e z = D;
  assert(z > A);
  assert(tab[0][1] == 2 && tab[1][0] == 0 && tab[2][3] == 9 && sizeof tab / sizeof tab[0] == 3);
  assert(next() + next() == 21 && next() == 12);
  assert(fs[0](3) == 3 && (*fs)(4) == 4 && (**fs)(5) == 5 && !fs[1]);
  int a[2][3] = { 1, 2, 3, 4 };
  int (*row)[3] = a + 1;
  assert((*row)[0] == 4 && *(*(a + 1) + 0) == 4);
  int *p = &a[0][0];
  assert(p[2] == 3 && *p++ == 1 && *p == 2 && ++*p == 3 && a[0][1] == 3);
  const char *s = "a\0b" "c";
  assert(sizeof("abc") == 4 && s[2] == 'b' && s[3] == 'c' && s[4] == 0);
  char w[] = "hey";
  w[0] ^= ' ';
  assert(w[0] == 'H' && sizeof w == 4);
  int y = 1;
  y = y++ + 5;
  int v = 3;
  int k = sizeof(v++);
  assert(v == 3 && k == 4);
  return 0;
}
// finds: explore rely horn
