// truth: safe
// why: the second lock of the error-checking mutex is refused.
// check: unreach-call
// source: own

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

struct row { int n; pthread_mutex_t m; };

int main(void) {
  struct row row = {0, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
  assert(pthread_mutex_lock(&row.m) == 0);
  assert(pthread_mutex_lock(&row.m) != 0);
  return 0;
}
// finds: explore rely horn
