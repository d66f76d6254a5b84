// truth: unsafe
// why: who has a read-write lock for writing is refused a second time and goes on without it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value;

void *writer(void *unused) {
  pthread_rwlock_wrlock(&lock);
  int again = pthread_rwlock_rdlock(&lock);
  value = again;
  pthread_rwlock_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_join(t, 0);
  assert(value == 0);
  return 0;
}
// finds: portfolio
