// truth: unsafe
// why: memory is given back while it may still be read.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>

int *p;

void *w(void *q) {
  free(p);
  return 0;
}

int main(void) {
  p = malloc(4);
  *p = 1;
  pthread_t x;
  pthread_create(&x, 0, w, 0);
  int r = *p;
  pthread_join(x, 0);
  return r;
}
// finds: explore horn
