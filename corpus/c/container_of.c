// truth: safe
// why: the struct around a member is found from the address of the member.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stddef.h>
struct item { int id; pthread_mutex_t m; int count; };
struct item it = { 7, PTHREAD_MUTEX_INITIALIZER, 0 };

#define container_of(p, type, member) \
  ({ const __typeof__(((type *)0)->member) *q = (p); (type *)((char *)q - offsetof(type, member)); })

void bump(int *count) {
  struct item *i = container_of(count, struct item, count);
  pthread_mutex_lock(&i->m);
  (*count)++;
  assert(i->id == 7);
  pthread_mutex_unlock(&i->m);
}

void *work(void *unused) {
  bump(&it.count);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(it.count == 2);
  return 0;
}
// finds: explore horn
