// truth: unsafe
// check: memory-safety
// Two threads take the same node out of a list and both free it.
#include <pthread.h>
#include <stdlib.h>
struct node {
  int v;
  struct node *next;
};
struct node *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *push(void *x) {
  struct node *n = malloc(sizeof *n);
  n->v = 1;
  pthread_mutex_lock(&m);
  n->next = head;
  head = n;
  pthread_mutex_unlock(&m);
  return 0;
}

void *pop(void *x) {
  struct node *n = head;
  if (n) {
    head = n->next;
    free(n);
  }
  return 0;
}

int main() {
  pthread_t a, b, c;
  pthread_create(&a, 0, push, 0);
  pthread_join(a, 0);
  pthread_create(&b, 0, pop, 0);
  pthread_create(&c, 0, pop, 0);
  return 0;
}
// finds: explore horn
