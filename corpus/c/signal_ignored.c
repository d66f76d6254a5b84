// truth: safe
// why: an ignored signal does nothing, and both threads count under the mutex.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <signal.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

void *thread(void *unused) {
  pthread_mutex_lock(&m);
  count++;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  pthread_t a, b;
  pthread_create(&a, 0, thread, 0);
  pthread_create(&b, 0, thread, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(count == 2);
  return 0;
}
// finds: explore horn
