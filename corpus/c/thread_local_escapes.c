// truth: unsafe
// why: one thread writes another's thread-local variable under the mutex, while its owner writes it without.
// check: no-data-race
// unmodelled: the address of a thread-local variable of a repeated thread leaves the thread
// source: own

#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

__thread int data;
int *ptr;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *t(void *unused) {
  pthread_mutex_lock(&m);
  ptr = &data;
  pthread_mutex_unlock(&m);
  pthread_mutex_lock(&m);
  *ptr = 2;
  pthread_mutex_unlock(&m);
  data = 1;
  return 0;
}

int main(void) {
  while (__VERIFIER_nondet_int()) {
    pthread_t id;
    pthread_create(&id, 0, t, 0);
  }
  return 0;
}
// finds: portfolio
