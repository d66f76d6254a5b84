// truth: unsafe
// why: the low half of an address is hardly ever zero, so the threads run and race.
// check: no-data-race
// unmodelled: an address cut to a narrower integer
// source: own

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

int total;

void *adder(void *unused) {
  total++;
  return 0;
}

int main(void) {
  int *p = malloc(sizeof(int));
  if ((uint32_t)(uintptr_t)p == 0) return 1;
  pthread_t a, b;
  pthread_create(&a, 0, adder, 0);
  pthread_create(&b, 0, adder, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: portfolio
