// truth: safe
// why: a key holds another value in each thread.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_key_t key;
int one = 1, two_ = 2;

void *work(void *arg) {
  pthread_setspecific(key, arg);
  int *p = pthread_getspecific(key);
  assert(p == arg);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_key_create(&key, 0);
  pthread_create(&a, 0, work, &one);
  pthread_create(&b, 0, work, &two_);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(pthread_getspecific(key) == 0);
  return 0;
}
// finds: explore rely horn
