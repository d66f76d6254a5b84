// truth: safe
// why: the lock is held until the handle is stored.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int handle, state;
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

void *child(void *unused) {
  pthread_mutex_lock(&guard);
  int h = handle;
  pthread_mutex_unlock(&guard);
  assert(h != 0);
  state = h;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_mutex_lock(&guard);
  pthread_create(&t, 0, child, 0);
  handle = 7;
  pthread_mutex_unlock(&guard);
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
