// truth: safe
// check: unreach-call
// Any number of threads, their handles in allocated memory.
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
extern void abort(void);
void assume_abort_if_not(int c) {
  if (!c) abort();
}

int g;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *t(void *a) {
  pthread_mutex_lock(&m);
  g = 5;
  g = 0;
  pthread_mutex_unlock(&m);
  return NULL;
}

int main(void) {
  int n = __VERIFIER_nondet_int();
  assume_abort_if_not(n >= 0);
  pthread_t *tids = malloc(n * sizeof(pthread_t));
  for (int i = 0; i < n; i++) pthread_create(&tids[i], NULL, &t, NULL);
  pthread_mutex_lock(&m);
  assert(g == 0);
  pthread_mutex_unlock(&m);
  for (int i = 0; i < n; i++) pthread_join(tids[i], NULL);
  free(tids);
  return 0;
}
// finds: explore rely horn
