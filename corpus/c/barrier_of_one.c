// truth: unsafe
// why: a barrier of one holds nobody.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x[2];
pthread_barrier_t b;

void *work(void *arg) {
  int me = (int)(long)arg;
  x[me] = 1;
  pthread_barrier_wait(&b);
  assert(x[1 - me] == 1);
  return 0;
}

int main(void) {
  pthread_t t[2];
  pthread_barrier_init(&b, 0, 1);
  for (long i = 0; i < 2; i++)
    pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], 0);
  return 0;
}
// finds: explore horn
