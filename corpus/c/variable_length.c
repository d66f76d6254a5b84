// truth: safe
// why: an array whose length is known only when the program runs: every cell written is one of it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

int length;
int *cells;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int next;

void *worker(void *arg) {
  pthread_mutex_lock(&m);
  int at = next;
  if (at < length)
    next = at + 1;
  pthread_mutex_unlock(&m);
  if (at < length) {
    assert(0 <= at && at < length);
    cells[at] = 1;
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  length = __VERIFIER_nondet_int();
  if (length <= 0)
    return 0;
  cells = malloc(length * sizeof(int));
  int seen[length];
  seen[0] = 3;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(seen[0] == 3);
  return 0;
}
// finds: rely horn
