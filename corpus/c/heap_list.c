// truth: safe
// why: the list holds what was pushed, newest first.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stdlib.h>
struct node { int value; struct node *next; };
struct node *top;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void push(int v) {
  struct node *n = malloc(sizeof *n);
  n->value = v;
  pthread_mutex_lock(&m);
  n->next = top;
  top = n;
  pthread_mutex_unlock(&m);
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
  assert(top != 0 && top->next != 0 && top->next->next == 0);
  assert(top->value + top->next->value == 3);
  return 0;
}
// finds: explore horn
