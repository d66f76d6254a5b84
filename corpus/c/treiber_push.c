// truth: safe
// why: the push is published by compare and swap.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stdlib.h>
struct node { int value; struct node *next; };
struct node *top;

void push(struct node *n) {
  struct node *old;
  do {
    old = top;
    n->next = old;
  } while (!__sync_bool_compare_and_swap(&top, old, n));
}

void *one(void *unused) {
  struct node *n = malloc(sizeof *n);
  n->value = 1;
  push(n);
  return 0;
}

void *two(void *unused) {
  struct node *n = malloc(sizeof *n);
  n->value = 2;
  push(n);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(top && top->next && !top->next->next);
  return 0;
}
// finds: explore horn
