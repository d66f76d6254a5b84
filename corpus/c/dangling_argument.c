// truth: unsafe
// check: memory-safety
// A thread writes to a local of a function that may have returned.
#include <pthread.h>
pthread_t p;
void *t(void *x) {
  *(int *)x = 1;
  return 0;
}

void go(void) {
  int l = 0;
  pthread_create(&p, 0, t, &l);
}

int main() {
  go();
  pthread_join(p, 0);
  return 0;
}
// finds: explore horn
