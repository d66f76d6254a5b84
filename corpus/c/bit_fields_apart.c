// truth: safe
// check: no-data-race
// A bit-field of width zero separates memory locations.
#include <pthread.h>
struct f {
  unsigned a : 3;
  unsigned : 0;
  unsigned b : 4;
  int c;
} s;
void *t(void *x) {
  s.a = 1;
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  s.b = 2;
  s.c = 1;
  pthread_join(p, 0);
  return 0;
}
// finds: explore
