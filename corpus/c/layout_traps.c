// truth: safe
// why: bit-fields, unions, padding and copies of structs keep what C says.
// check: unreach-call
// source: own

#include <assert.h>

struct f { unsigned a : 3; int b : 4; unsigned char c : 1; _Bool d : 1; unsigned : 0; unsigned e : 31; } s;
union u { int i; unsigned char b[4]; short h[2]; } v;
struct p { char c; int i; char d; };
struct q { char c; struct p in[2]; };

int main(void) {
  s.a = 9;
  assert(s.a == 1);
  s.a = 7;
  s.a++;
  assert(s.a == 0);
  s.a--;
  assert(s.a == 7);
  s.b = 8;
  assert(s.b == -8);
  s.b = 7;
  s.b += 1;
  assert(s.b == -8);
  s.c = 3;
  assert(s.c == 1);
  s.d = 2;
  assert(s.d == 1);
  s.e = -1;
  assert(s.e == 0x7fffffff);
  assert(s.a - 8 < 0);
  assert(s.e + 1 > 0);
  assert((s.a = 15) == 7);
  v.i = 0x01020304;
  assert(v.b[0] == 4 && v.b[3] == 1);
  v.h[0] = -1;
  assert(v.i == 0x0102ffff);
  assert(sizeof(struct p) == 12 && sizeof(struct q) == 28 && __builtin_offsetof(struct q, in[1].i) == 20);
  struct q x = { 1, { { 2, 3, 4 }, { .i = 7, .c = 5 } } }, y = x;
  y.in[1].i = 8;
  assert(x.in[1].i == 7 && y.in[0].d == 4 && y.in[1].d == 0);
  struct p *r = &x.in[0];
  r++;
  assert(r->i == 7);
  r[-1].i = 11;
  assert(x.in[0].i == 11);
  assert(r - x.in == 1);
  return 0;
}
// finds: explore rely horn
