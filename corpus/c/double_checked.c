// truth: unsafe
// why: the flag is set before the value is there.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int initialised, value;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

int get(void) {
  if (!initialised) {
    pthread_mutex_lock(&m);
    if (!initialised) {
      initialised = 1;
      value = 5;
    }
    pthread_mutex_unlock(&m);
  }
  return value;
}

void *work(void *unused) {
  int v = get();
  assert(v == 5);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
