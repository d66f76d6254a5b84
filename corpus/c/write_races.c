// truth: unsafe
// why: the number is written out while the other thread changes it.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdio.h>

int number;

void *changer(void *unused) {
  number = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, changer, 0);
  fwrite(&number, sizeof number, 1, stdout);
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
