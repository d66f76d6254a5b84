// truth: unsafe
// why: two pushes without a lock can lose one.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stdlib.h>
struct node { int value; struct node *next; };
struct node *top;

void push(int v) {
  struct node *n = malloc(sizeof *n);
  n->value = v;
  n->next = top;
  top = n;
}

void *one(void *unused) {
  push(1);
  return 0;
}

void *two(void *unused) {
  push(2);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(top != 0 && top->next != 0);
  return 0;
}
// finds: explore horn
