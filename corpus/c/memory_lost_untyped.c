// truth: unsafe
// why: nobody takes the memory that the thread returns, so that it is lost; that no type is given to it changes nothing.
// check: valid-memsafety
// unmodelled: leaks of memory that is used as no type
// source: own

#include <pthread.h>
#include <stdlib.h>

void *makes(void *unused) { return malloc(4); }

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, makes, 0);
  pthread_join(t, 0);
  return 0;
}
