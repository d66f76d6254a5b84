// truth: safe
// why: a recursive mutex is free only after as many unlocks as locks.
// check: unreach-call
// source: own

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

int x;
pthread_mutex_t m;

void add(int n) {
  pthread_mutex_lock(&m);
  x += n;
  pthread_mutex_unlock(&m);
}

void *work(void *unused) {
  pthread_mutex_lock(&m);
  add(1);
  add(-1);
  assert(x == 0);
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m, &attr);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
