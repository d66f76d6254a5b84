// truth: unsafe
// why: the new version is published before it is filled in: a reader can see half of it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct version {
  int low, high;
};

_Atomic(struct version *) current;

void *reader(void *arg) {
  struct version *v = atomic_load(&current);
  assert(v->low + 1 == v->high);
  return 0;
}

void *writer(void *arg) {
  struct version *next = malloc(sizeof *next);
  next->low = 5;
  atomic_store(&current, next);
  next->high = 6;
  return 0;
}

int main(void) {
  struct version *start = malloc(sizeof *start);
  start->low = 1;
  start->high = 2;
  atomic_init(&current, start);
  pthread_t r1, r2, w;
  pthread_create(&r1, 0, reader, 0);
  pthread_create(&w, 0, writer, 0);
  pthread_create(&r2, 0, reader, 0);
  pthread_join(r1, 0);
  pthread_join(w, 0);
  pthread_join(r2, 0);
  return 0;
}
// finds: explore horn
