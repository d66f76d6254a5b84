// truth: safe
// check: memory-safety
// A thread writes to a local of a function that waits for it.
#include <pthread.h>
void *t(void *x) {
  *(int *)x = 1;
  return 0;
}

void go(void) {
  int l = 0;
  pthread_t p;
  pthread_create(&p, 0, t, &l);
  pthread_join(p, 0);
}

int main() {
  go();
  go();
  return 0;
}
// finds: explore
