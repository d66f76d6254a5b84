// truth: unsafe
// why: the new thread may look at its handle before its creator has stored it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_t handle;

void *t(void *unused) {
  assert(pthread_equal(handle, pthread_self()));
  return 0;
}

int main(void) {
  pthread_create(&handle, 0, t, 0);
  pthread_join(handle, 0);
  return 0;
}
// finds: portfolio
