// truth: unsafe
// why: the row has the three elements that the field says when it is made, and the last of them is set by the thread.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct settings { int rows; } settings;
int *row;

void *writer(void *unused) {
  row[2] = 7;
  return 0;
}

int main(void) {
  settings.rows = 3;
  row = calloc(settings.rows, sizeof(int));
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_join(t, 0);
  assert(row[2] == 0);
  return 0;
}
// finds: portfolio
