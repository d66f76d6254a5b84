// truth: unsafe
// why: the local that is lent ends with the thread, wherever it exits.
// check: memory-safety
// source: own

#include <pthread.h>

int *lent;

void leave(int *at) {
  lent = at;
  pthread_exit(0);
}

void *work(void *unused) {
  int mine = 1;
  leave(&mine);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  *lent = 2;
  return 0;
}
// finds: explore horn
