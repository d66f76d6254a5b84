// truth: unsafe
// why: printing a text reads it.
// check: no-data-race
// source: own

#include <stdio.h>
#include <pthread.h>

char name[4] = "ab";

void *w(void *a) {
  name[0] = 'x';
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, w, 0);
  printf("%s\n", name);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
