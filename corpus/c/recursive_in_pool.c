// truth: unsafe
// why: each node's mutex is recursive, so it is taken twice.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

struct node { pthread_mutex_t m; int v; };

int main(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  while (__VERIFIER_nondet_int()) {
    struct node *n = malloc(sizeof *n);
    pthread_mutex_init(&n->m, &a);
    n->v = 0;
    pthread_mutex_lock(&n->m);
    pthread_mutex_lock(&n->m);
    assert(n->v == 1);
  }
  return 0;
}
// finds: portfolio
