// truth: unsafe
// check: unreach-call
// Threads store at an index that main goes on to change.
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
const int SIGMA = 4;
int *array;
int array_index = 0;
void *thread(void *arg) {
  array[array_index] = 1;
  return 0;
}

int main() {
  int tid, sum;
  pthread_t *t;
  t = (pthread_t *)malloc(sizeof(pthread_t) * SIGMA);
  array = (int *)malloc(sizeof(int) * SIGMA);
  for (tid = 0; tid < SIGMA; tid++) array[tid] = 0;
  for (tid = 0; tid < SIGMA; tid++) {
    pthread_create(&t[tid], NULL, thread, NULL);
    array_index++;
  }
  for (tid = 0; tid < SIGMA; tid++) pthread_join(t[tid], NULL);
  for (tid = sum = 0; tid < SIGMA; tid++) sum += array[tid];
  assert(sum == SIGMA);
  return 0;
}
// finds: explore horn
