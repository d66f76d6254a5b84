// truth: unsafe
// why: minus one less one is minus two, as a number and as a pointer.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

long below = 0;
void *handed;

void *thread(void *unused) {
  assert(handed != (void *)-2L);
  return 0;
}

int main(void) {
  while (below > -2) below--;
  handed = (void *)below;
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
