// truth: unsafe
// why: two threads pass the check before either adds.
// check: no-overflow
// source: own

#include <pthread.h>
#include <limits.h>

int n = INT_MAX - 1;

void *w(void *q) {
  if (n < INT_MAX) n++;
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
// finds: explore horn
