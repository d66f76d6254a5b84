// truth: safe
// why: an int lies at a multiple of four, so its lowest bit is free for a mark.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

int value = 5;
_Atomic uintptr_t tagged;

void *marker(void *unused) {
  tagged = tagged | 1;
  return 0;
}

int main(void) {
  tagged = (uintptr_t)&value;
  pthread_t t;
  pthread_create(&t, 0, marker, 0);
  uintptr_t seen = tagged;
  int *p = (int *)(seen & ~(uintptr_t)1);
  assert(p == &value && *p == 5);
  pthread_join(t, 0);
  assert((tagged & 1) == 1);
  return 0;
}
// finds: explore rely horn
