// truth: safe
// why: any number of threads, each under the mutex, never sees the counter inside a section.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);
int inside;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *work(void *unused) {
  pthread_mutex_lock(&m);
  inside = 1;
  assert(inside == 1);
  inside = 0;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  while (__VERIFIER_nondet_int())
    pthread_create(&t, 0, work, 0);
  return 0;
}
// finds: explore rely horn
