// truth: unsafe
// why: each worker has a cell of its own, but the last one writes its neighbour's as well.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stddef.h>

#define N 3

int cells[N + 1];

void *worker(void *arg) {
  size_t me = (size_t)arg;
  cells[me] = 1;
  if (me == N - 1)
    cells[0]++;
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
// finds: explore horn
