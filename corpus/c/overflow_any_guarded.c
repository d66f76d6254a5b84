// truth: safe
// why: the check and the sum are under the mutex, for any number of threads.
// check: no-overflow
// source: own

#include <pthread.h>
#include <limits.h>

extern int __VERIFIER_nondet_int(void);
int n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *w(void *q) {
  pthread_mutex_lock(&m);
  if (n < INT_MAX) n++;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  while (__VERIFIER_nondet_int()) pthread_create(&t, 0, w, 0);
  return 0;
}
// finds: rely count horn
