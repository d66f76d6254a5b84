// truth: unsafe
// check: unreach-call
// Two threads add without a lock; the sum of two odd numbers can be odd.
#include <assert.h>
#include <pthread.h>

int sum;

void *add(void *unused) {
  int old = sum;
  sum = old + 3;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, add, 0);
  pthread_create(&b, 0, add, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(sum % 2 == 0);
  return 0;
}
// finds: explore horn
