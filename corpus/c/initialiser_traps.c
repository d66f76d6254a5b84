// truth: safe
// why: addresses, texts and functions in static initialisers.
// check: unreach-call
// source: own

#include <assert.h>

int a = 3, *p = &a, **pp = &p;
struct s { int *q; char n[4]; int (*f)(int); } ;

int id(int x) {
  return x;
}

struct s g = { .q = &a, "ab", id };
static int arr[] = { [3] = 7 };
char *names[] = { "x", "yz", 0 };
unsigned char big = 300 & 0xff;
int neg = -5 / 2;
long l = 1L << 33;
int cond = sizeof(int) == 4 ? 9 : 8;

int main(void) {
  assert(**pp == 3 && *g.q == 3 && g.n[1] == 'b' && g.n[2] == 0 && g.f(4) == 4);
  assert(sizeof arr == 16 && arr[3] == 7 && arr[0] == 0);
  assert(names[1][1] == 'z' && names[2] == 0);
  assert(big == 44 && neg == -2 && l == 8589934592L && cond == 9);
  return 0;
}
// finds: explore rely horn
