// truth: safe
// why: nobody reads before all have written, and one of them is told so.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_barrier_t b;
int x[3], sums[3], serial;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *w(void *a) {
  long i = (long)a;
  x[i] = i + 1;
  int r = pthread_barrier_wait(&b);
  if (r == PTHREAD_BARRIER_SERIAL_THREAD) {
    pthread_mutex_lock(&m);
    serial++;
    pthread_mutex_unlock(&m);
  }
  sums[i] = x[0] + x[1] + x[2];
  return 0;
}

int main(void) {
  pthread_t t[3];
  pthread_barrier_init(&b, 0, 3);
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, w, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  assert(sums[0] == 6 && sums[1] == 6 && sums[2] == 6 && serial == 1);
}
// finds: explore
