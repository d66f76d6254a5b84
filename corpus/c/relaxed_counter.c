// truth: safe
// why: the counter is atomic, whatever its order, and the rest is under the mutex.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

atomic_int hits;
int total;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *worker(void *unused) {
  atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
  pthread_mutex_lock(&m);
  total++;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return total;
}
// finds: explore
