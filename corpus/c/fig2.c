// truth: unsafe
// why: the new thread can read the handle before its creator has stored it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int handle, state;

void *child(void *unused) {
  int h = handle;
  assert(h != 0);
  state = h;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, child, 0);
  handle = 7;
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
