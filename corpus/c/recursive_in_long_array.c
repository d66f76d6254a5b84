// truth: unsafe
// why: the mutexes of the long array are recursive, so the thread takes one twice and gets to the assertion.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_mutex_t locks[40];
int n;

int main(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  for (int i = 0; i < 40; i++) pthread_mutex_init(&locks[i], &a);
  pthread_mutex_lock(&locks[7]);
  pthread_mutex_lock(&locks[7]);
  assert(n == 1);
  return 0;
}
// finds: portfolio
