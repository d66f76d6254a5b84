// truth: safe
// why: the number is read only where a number was stored, and the pointer where a pointer was.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct item { int is_number; union { int *p; int n; } u; } item;
int value = 7;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *writer(void *unused) {
  pthread_mutex_lock(&m);
  item.u.n = 3;
  item.is_number = 1;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  item.u.p = &value;
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_mutex_lock(&m);
  if (item.is_number) assert(item.u.n == 3);
  else assert(*item.u.p == 7);
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
// finds: explore rely horn
