// truth: safe
// why: a struct is copied under its lock.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct pair { int a, b; };
struct pair shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

struct pair get(void) {
  pthread_mutex_lock(&m);
  struct pair p = shared;
  pthread_mutex_unlock(&m);
  return p;
}

void *writer(void *unused) {
  struct pair p = { 1, 1 };
  pthread_mutex_lock(&m);
  shared = p;
  pthread_mutex_unlock(&m);
  return 0;
}

void *reader(void *unused) {
  struct pair p = get();
  assert(p.a == p.b);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore rely horn
