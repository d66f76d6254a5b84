// truth: unsafe
// why: one of two may not come.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_barrier_t b;
int skip;

void *w(void *q) {
  if (!skip) pthread_barrier_wait(&b);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&t, 0, w, 0);
  skip = 1;
  pthread_barrier_wait(&b);
  pthread_join(t, 0);
  return 0;
}
// finds: explore
