// truth: unsafe
// why: the writer takes the lock for reading.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int a, b;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

void *writer(void *unused) {
  pthread_rwlock_rdlock(&l);
  a = 1;
  b = 1;
  pthread_rwlock_unlock(&l);
  return 0;
}

void *reader(void *unused) {
  pthread_rwlock_rdlock(&l);
  assert(a == b);
  pthread_rwlock_unlock(&l);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
