// truth: unsafe
// why: whoever calls the program may ask for two threads, and they count without a mutex.
// check: no-data-race
// unmodelled: what the arguments point to
// source: own

#include <pthread.h>
#include <stdlib.h>

int count;

void *thread(void *unused) {
  count++;
  return 0;
}

int main(int argc, char **argv) {
  int wanted = argc > 1 ? atoi(argv[1]) : 1;
  pthread_t *ids = malloc(wanted * sizeof *ids);
  for (int i = 0; i < wanted; i++) pthread_create(&ids[i], 0, thread, 0);
  for (int i = 0; i < wanted; i++) pthread_join(ids[i], 0);
  free(ids);
  return 0;
}
