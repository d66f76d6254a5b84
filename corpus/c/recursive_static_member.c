// truth: unsafe
// why: the initialiser makes the second mutex of the table recursive.
// check: unreach-call
// source: own

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

struct row { int n; pthread_mutex_t m; } table[2] = {
    {0, PTHREAD_MUTEX_INITIALIZER},
    {0, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP},
};

int main(void) {
  pthread_mutex_lock(&table[1].m);
  pthread_mutex_lock(&table[1].m);
  assert(table[1].n == 1);
  return 0;
}
// finds: portfolio
