// truth: safe
// check: unreach-call
// Bit-fields wrap at their width and promote to int.
#include <pthread.h>
#include <assert.h>
struct f {
  unsigned a : 3;
  int b : 4;
  unsigned c : 1;
  _Bool d : 1;
} s, q = { 5, -2, 1, 1 };
void *t(void *x) {
  s.a = 0;
  assert(s.a - 1 < 0);
  s.b = 7;
  s.b++;
  assert(s.b == -8);
  s.c = 2;
  assert(s.c == 0);
  s.d = 2;
  assert(s.d == 1);
  int k = (s.a = 9);
  assert(k == 1);
  s = q;
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  pthread_join(p, 0);
  assert(s.a == 5 && s.b == -2 && s.c && s.d);
  struct f *r = &s;
  r->a += 4;
  assert(r->a == 1);
  return 0;
}
// finds: explore rely horn
