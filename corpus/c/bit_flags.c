// truth: safe
// why: the flags are set and cleared under the lock.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

unsigned flags;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *one(void *unused) {
  pthread_mutex_lock(&m);
  flags |= 1u << 0;
  pthread_mutex_unlock(&m);
  return 0;
}

void *two(void *unused) {
  pthread_mutex_lock(&m);
  flags |= 1u << 3;
  flags &= ~4u;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(flags == 9);
  return 0;
}
// finds: explore
