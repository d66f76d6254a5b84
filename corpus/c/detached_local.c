// truth: unsafe
// why: a thread outlives the function whose local it writes.
// check: memory-safety
// source: own

#include <pthread.h>
#include <stdlib.h>

void *w(void *a) {
  *(int *)a = 1;
  return 0;
}

void go(void) {
  int x = 0;
  pthread_t t;
  pthread_create(&t, 0, w, &x);
  pthread_detach(t);
}

int y;

int main(void) {
  go();
  y = 1;
  pthread_exit(0);
}
// finds: explore horn
