// truth: safe
// why: the argument lives in main until the join, the result comes back through it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct job { int in, out; };

void *work(void *arg) {
  struct job *j = arg;
  j->out = j->in + 1;
  return arg;
}

int main(void) {
  pthread_t a, b;
  struct job p = { 1, 0 }, q = { .in = 10 };
  void *r;
  pthread_create(&a, 0, work, &p);
  pthread_create(&b, 0, work, &q);
  pthread_join(a, &r);
  assert(((struct job *)r)->out == 2);
  pthread_join(b, &r);
  assert(r == &q && q.out == 11);
  return 0;
}
// finds: explore rely horn
