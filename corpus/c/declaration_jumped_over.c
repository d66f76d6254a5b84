// truth: unsafe
// why: the variable whose address is handed out belongs to one copy, and another copy writes through it.
// check: no-data-race
// unmodelled: the address of a local of a repeated thread leaves the thread
// source: own

#include <pthread.h>

extern int __VERIFIER_nondet_int(void);

int *shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *t(void *unused) {
  switch (1) {
    int own;
  case 1:
    own = 0;
    pthread_mutex_lock(&m);
    shared = &own;
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    *shared = 2;
    pthread_mutex_unlock(&m);
    own = 1;
  }
  return 0;
}

int main(void) {
  while (__VERIFIER_nondet_int()) {
    pthread_t id;
    pthread_create(&id, 0, t, 0);
  }
  return 0;
}
// finds: rely count
