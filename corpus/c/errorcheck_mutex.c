// truth: safe
// why: locking an error-checking mutex twice reports an error.
// check: unreach-call
// source: own

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

#include <errno.h>
pthread_mutex_t m;

int main(void) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&m, &attr);
  assert(pthread_mutex_lock(&m) == 0);
  assert(pthread_mutex_lock(&m) == EDEADLK);
  assert(pthread_mutex_unlock(&m) == 0);
  assert(pthread_mutex_unlock(&m) == EPERM);
  return 0;
}
// finds: explore rely horn
