// truth: safe
// check: unreach-call
// Memory allocated by a function that knows no type.
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
void *xmalloc(size_t n) {
  void *p = malloc(n);
  if (!p) abort();
  return p;
}

struct job {
  int a, b;
};
void *t(void *x) {
  struct job *j = x;
  j->b = j->a + 1;
  return j;
}

int main() {
  struct job *j = xmalloc(sizeof(struct job));
  j->a = 4;
  pthread_t p;
  pthread_create(&p, 0, t, j);
  void *r;
  pthread_join(p, &r);
  assert(((struct job*)r)->b == 5);
  free(j);
  return 0;
}
// finds: explore rely horn
