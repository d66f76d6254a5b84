// truth: unsafe
// why: the thread is cancelled at the point between the lock and the unlock, and has no cleanup handler: the mutex stays taken.
// check: unreach-call
// unmodelled: `pthread_cancel`
// source: own

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
  pthread_mutex_lock(&m);
  pthread_testcancel();
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  void *result;
  pthread_create(&t, 0, worker, 0);
  pthread_cancel(t);
  pthread_join(t, &result);
  assert(result == PTHREAD_CANCELED || result == 0);
  assert(pthread_mutex_trylock(&m) == 0);
  return 0;
}
// finds: portfolio
