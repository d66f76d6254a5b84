// truth: safe
// why: readers share, the writer is alone.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int a, b;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

void *writer(void *unused) {
  pthread_rwlock_wrlock(&l);
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
  pthread_t t[3];
  pthread_create(&t[0], 0, writer, 0);
  pthread_create(&t[1], 0, reader, 0);
  pthread_create(&t[2], 0, reader, 0);
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  return 0;
}
// finds: explore horn
