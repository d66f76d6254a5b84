// truth: safe
// why: main sets the variable in its last step, and then nothing runs any more.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int x;

void *work(void *unused) {
  assert(x == 0);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  return 0;
}
// finds: explore rely horn
