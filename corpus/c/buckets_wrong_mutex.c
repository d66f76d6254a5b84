// truth: unsafe
// why: a list is read under the mutex of another bucket.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
struct s { int datum; struct s *next; };
struct s *new(int x) { struct s *p = malloc(sizeof(struct s)); p->datum = x; p->next = NULL; return p; }
void list_add(struct s *node, struct s *list) { struct s *temp = list->next; list->next = node; node->next = temp; }
pthread_mutex_t mutex[10] = { PTHREAD_MUTEX_INITIALIZER };
struct s *slot[10];
void *t_fun(void *arg) {
  int i = __VERIFIER_nondet_int();
  if (!(0 <= i && i < 10)) return NULL;
  pthread_mutex_lock(&mutex[i]);
  list_add(new(3), slot[i]);
  pthread_mutex_unlock(&mutex[i]);
  return NULL;
}
int main() {
  for (int i = 0; i < 10; i++) { pthread_mutex_init(&mutex[i], NULL); slot[i] = new(1); }
  int j = __VERIFIER_nondet_int();
  if (!(0 <= j && j < 10)) return 0;
  int k = __VERIFIER_nondet_int();
  if (!(0 <= k && k < 10)) return 0;
  struct s *p;
  pthread_t t1;
  pthread_create(&t1, NULL, t_fun, NULL);
  pthread_mutex_lock(&mutex[k]);
  p = slot[j]->next;
  printf("%d\n", p ? p->datum : 0);
  pthread_mutex_unlock(&mutex[k]);
  return 0;
}
// finds: explore
