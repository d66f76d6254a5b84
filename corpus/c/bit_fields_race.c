// truth: unsafe
// check: no-data-race
// Two bit-fields in the same bytes are one memory location.
#include <pthread.h>
struct f {
  unsigned a : 3;
  unsigned b : 4;
} s;
void *t(void *x) {
  s.a = 1;
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  s.b = 2;
  pthread_join(p, 0);
  return 0;
}
// finds: explore horn
