// truth: unsafe
// why: nobody knows the address when the thread has ended.
// check: valid-memtrack
// source: own

#include <pthread.h>
#include <stdlib.h>

void *w(void *q) {
  int *p = malloc(4);
  *p = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
