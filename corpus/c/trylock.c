// truth: safe
// why: only who got the mutex touches the counter.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *work(void *unused) {
  if (pthread_mutex_trylock(&m) == 0) {
    x++;
    assert(x == 1);
    x--;
    pthread_mutex_unlock(&m);
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore rely horn
