// truth: safe
// why: constructors run before `main`, the one with a priority first, so the thread finds a limit of six.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int limit;

__attribute__((constructor)) static void twice(void) { limit = limit * 2; }
__attribute__((constructor(200))) static void set(void) { limit = 3; }

void *thread(void *unused) {
  assert(limit == 6);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
