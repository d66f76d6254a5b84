// truth: safe
// why: a thread that ends the program keeps the others from going wrong afterwards.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#include <stdlib.h>
int x;

void *work(void *unused) {
  if (x == 1)
    assert(0);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  x = 1;
  exit(0);
}
// finds: explore rely horn
