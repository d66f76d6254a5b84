// truth: unsafe
// why: a relaxed store and a relaxed load order nothing: under C11 the accesses of the data race.
// check: no-data-race
// unmodelled: an order that the atomics do not give
// source: own

#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int ready;

void *producer(void *unused) {
  data = 42;
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, producer, 0);
  int seen = 0;
  if (atomic_load_explicit(&ready, memory_order_acquire)) seen = data;
  pthread_join(t, 0);
  return seen;
}
// finds: portfolio
