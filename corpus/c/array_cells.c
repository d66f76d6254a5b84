// truth: safe
// why: each worker has a cell of its own; the sum is read when all have ended.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stddef.h>

#define N 3

int cells[N + 1];

void *worker(void *arg) {
  size_t me = (size_t)arg;
  cells[me] = 1;
  return NULL;
}

int main(void) {
  pthread_t t[N];
  for (size_t i = 0; i < N; i++)
    pthread_create(&t[i], NULL, worker, (void *)i);
  for (size_t i = 0; i < N; i++)
    pthread_join(t[i], NULL);
  return cells[0];
}
// finds: explore
