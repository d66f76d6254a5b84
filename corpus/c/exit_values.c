// truth: safe
// why: a thread's result is what it returned or exited with.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

int g;

void helper(int v) {
  if (v > 3) pthread_exit((void *)(intptr_t)(v * 2));
  g++;
}

void *w(void *a) {
  helper((int)(intptr_t)a);
  return (void *)7L;
}

int main(void) {
  pthread_t a, b;
  void *ra, *rb;
  pthread_create(&a, 0, w, (void *)2L);
  pthread_create(&b, 0, w, (void *)5L);
  pthread_join(a, &ra);
  pthread_join(b, &rb);
  assert((long)ra == 7 && (intptr_t)rb == 10 && g == 1);
}
// finds: explore rely horn
