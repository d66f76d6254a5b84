// truth: safe
// why: tickets are drawn atomically and served in order.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

unsigned next, serving;
int x;

void *work(void *unused) {
  unsigned mine = __sync_fetch_and_add(&next, 1);
  while (__atomic_load_n(&serving, 5) != mine)
    ;
  x = 1;
  assert(x == 1);
  x = 0;
  __atomic_store_n(&serving, mine + 1, 5);
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
