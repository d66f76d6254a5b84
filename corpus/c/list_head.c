// truth: safe
// check: unreach-call
// Lists linked through a member, as kernels have them.
#include <pthread.h>
#include <stddef.h>
#include <assert.h>
struct list_head {
  struct list_head *next, *prev;
};
#define container_of(p, T, m) ((T *)((char *)(p) - offsetof(T, m)))
struct item {
  int v;
  struct list_head l;
};
struct list_head head = { &head, &head };
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void add(struct list_head *n, struct list_head *h) {
  n->next = h->next;
  n->prev = h;
  h->next->prev = n;
  h->next = n;
}

struct item a = { 3 }, b = { 4 };
void *t(void *x) {
  struct item *i = x;
  pthread_mutex_lock(&m);
  add(&i->l, &head);
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t p, q;
  pthread_create(&p, 0, t, &a);
  pthread_create(&q, 0, t, &b);
  pthread_join(p, 0);
  pthread_join(q, 0);
  int s = 0;
  struct list_head *c;
  for (c = head.next; c != &head; c = c->next) s += container_of(c, struct item, l)->v;
  assert(s == 7);
  return 0;
}
// finds: explore
