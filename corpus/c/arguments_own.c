// truth: safe
// why: each thread has an argument of its own.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int seen[3];

void *w(void *a) {
  int i = *(int *)a;
  if (i < 3) seen[i] = 1;
  return 0;
}

int main(void) {
  pthread_t t[3];
  int id[3];
  for (int i = 0; i < 3; i++) {
    id[i] = i;
    pthread_create(&t[i], 0, w, id + i);
  }
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  assert(seen[0] && seen[1] && seen[2]);
}
// finds: explore rely horn
