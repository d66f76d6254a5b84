// truth: unsafe
// why: a struct is copied member by member.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

struct pair { int a, b; };
struct pair shared;

void *writer(void *unused) {
  struct pair p = { 1, 1 };
  shared = p;
  return 0;
}

void *reader(void *unused) {
  struct pair p = shared;
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
// finds: explore horn
