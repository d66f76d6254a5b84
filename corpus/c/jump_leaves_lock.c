// truth: unsafe
// why: the error path jumps out of `put` while the mutex is held, so `main`, which finds it taken, says so.
// check: unreach-call
// unmodelled: `_setjmp`
// source: own

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stock = 1;

static void put(jmp_buf back, int n) {
  pthread_mutex_lock(&m);
  if (stock + n > 2)
    longjmp(back, 1);
  stock += n;
  pthread_mutex_unlock(&m);
}

static void *filler(void *unused) {
  jmp_buf back;
  if (setjmp(back) == 0) {
    put(back, 1);
    put(back, 1);
  }
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, filler, 0);
  pthread_join(t, 0);
  assert(pthread_mutex_trylock(&m) == 0);
  return 0;
}
// finds: portfolio
