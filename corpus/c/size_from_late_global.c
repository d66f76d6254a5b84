// truth: unsafe
// why: four threads add to a plain counter at the same time; their number is a variable that main sets.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>

int nthreads = 0;
pthread_t *ids;
int total;

void *adder(void *unused) {
  total++;
  return 0;
}

int main(void) {
  nthreads = 4;
  ids = malloc(nthreads * sizeof(pthread_t));
  for (int i = 0; i < nthreads; i++) pthread_create(&ids[i], 0, adder, 0);
  for (int i = 0; i < nthreads; i++) pthread_join(ids[i], 0);
  return total;
}
// finds: portfolio
