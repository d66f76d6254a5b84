// truth: safe
// why: two owners of a block: whoever drops the last reference reads it, and by then the other is done with it.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct block {
  atomic_int references;
  int data;
};

int sum;

void drop(struct block *b) {
  if (atomic_fetch_sub(&b->references, 1) == 1) {
    sum = b->data;
    free(b);
  }
}

void *owner(void *arg) {
  struct block *b = arg;
  drop(b);
  return 0;
}

int main(void) {
  pthread_t t;
  struct block *b = malloc(sizeof *b);
  atomic_init(&b->references, 2);
  b->data = 7;
  pthread_create(&t, 0, owner, b);
  drop(b);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
