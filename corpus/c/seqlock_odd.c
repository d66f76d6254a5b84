// truth: unsafe
// why: a sequence lock whose readers forget that an odd number means a write is under way.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint sequence;
atomic_int first, second;

void *writer(void *arg) {
  for (int i = 1; i <= 2; i++) {
    atomic_fetch_add(&sequence, 1);
    atomic_store(&first, i);
    atomic_store(&second, i);
    atomic_fetch_add(&sequence, 1);
  }
  return 0;
}

void *reader(void *arg) {
  unsigned before, after;
  int a, b;
  do {
    before = atomic_load(&sequence);
    a = atomic_load(&first);
    b = atomic_load(&second);
    after = atomic_load(&sequence);
  } while (before != after);
  assert(a == b);
  return 0;
}

int main(void) {
  pthread_t w, r;
  pthread_create(&w, 0, writer, 0);
  pthread_create(&r, 0, reader, 0);
  pthread_join(w, 0);
  pthread_join(r, 0);
  return 0;
}
// finds: explore horn
