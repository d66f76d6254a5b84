// truth: safe
// check: memory-safety
// A shared list whose nodes are freed by whoever takes them out.
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
  if (!n) return 0;
  n->v = 1;
  pthread_mutex_lock(&m);
  n->next = head;
  head = n;
  pthread_mutex_unlock(&m);
  return 0;
}

void *pop(void *x) {
  pthread_mutex_lock(&m);
  struct node *n = head;
  if (n) head = n->next;
  pthread_mutex_unlock(&m);
  if (n) free(n);
  return 0;
}

int main() {
  pthread_t a, b, c;
  pthread_create(&a, 0, push, 0);
  pthread_create(&b, 0, pop, 0);
  pthread_create(&c, 0, push, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  while (head) {
    struct node *n = head;
    head = n->next;
    free(n);
  }
  return 0;
}
// finds: explore horn
