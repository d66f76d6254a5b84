// truth: unsafe
// why: the mutex in the struct is recursive, so the thread takes it twice and gets to the assertion.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct box { int n; pthread_mutex_t m; } box;

int main(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&box.m, &a);
  pthread_mutex_lock(&box.m);
  pthread_mutex_lock(&box.m);
  assert(box.n == 1);
  return 0;
}
// finds: portfolio
