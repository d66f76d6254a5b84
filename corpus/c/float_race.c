// truth: unsafe
// check: no-data-race
// A race on a floating-point variable.
#include <pthread.h>
double d;
void *t(void *x) {
  d += 1.5;
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  double e = d;
  pthread_join(p, 0);
  return 0;
}
// finds: explore horn
