// truth: unsafe
// why: the arguments are evaluated from left to right, so the semaphore begins with two.
// check: unreach-call
// source: own

#include <assert.h>
#include <semaphore.h>

int calls;
sem_t semaphore;

int main(void) {
  sem_init(&semaphore, calls++, 1 + calls++);
  sem_wait(&semaphore);
  sem_wait(&semaphore);
  assert(calls == 0);
  return 0;
}
// finds: portfolio
