// truth: safe
// why: what threads keep is handed to the destructor when they end.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

pthread_key_t k;
__thread int mine = 3;
_Thread_local int other;
int freed;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void done(void *p) {
  pthread_mutex_lock(&m);
  freed += *(int *)p;
  pthread_mutex_unlock(&m);
  free(p);
}

void *w(void *a) {
  assert(pthread_getspecific(k) == 0);
  int *p = malloc(sizeof *p);
  *p = (int)(long)a;
  pthread_setspecific(k, p);
  mine += *p;
  other++;
  assert(mine == 3 + *p && other == 1);
  assert(*(int *)pthread_getspecific(k) == (int)(long)a);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_key_create(&k, done);
  pthread_create(&t, 0, w, (void *)1L);
  pthread_create(&u, 0, w, (void *)2L);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(mine == 3 && other == 0 && freed == 3);
  return 0;
}
// finds: explore horn
