// truth: unsafe
// why: a copy of a struct writes each member.
// check: no-data-race
// source: own

#include <pthread.h>

struct s { int a, b; } g, h = { 1, 2 };

void *w(void *p) {
  g = h;
  return 0;
}

int main(void) {
  pthread_t x;
  pthread_create(&x, 0, w, 0);
  int r = g.b;
  pthread_join(x, 0);
  return r;
}
// finds: explore horn
