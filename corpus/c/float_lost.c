// truth: unsafe
// why: an update is lost, whatever its type.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

double total;
float rate = 0.25f;

void *w(void *a) {
  total += 10 * rate;
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(total == 5.0);
  return 0;
}
// finds: explore
