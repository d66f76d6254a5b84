// truth: unsafe
// why: attributes that are initialised again ask for the default kind, so the second lock waits for ever.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_mutexattr_t kind;
pthread_mutex_t mutex;

int main(void) {
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutexattr_destroy(&kind);
  pthread_mutexattr_init(&kind);
  pthread_mutex_init(&mutex, &kind);
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  return 0;
}
// finds: portfolio
