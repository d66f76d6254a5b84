// truth: unsafe
// why: each barrier has its own count: the one of one is open, and its caller gets to the assertion.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_barrier_t gates[30];
int n;

int main(void) {
  pthread_barrier_init(&gates[3], 0, 1);
  pthread_barrier_init(&gates[4], 0, 2);
  pthread_barrier_wait(&gates[3]);
  assert(n == 1);
  return 0;
}
// finds: portfolio
