// truth: unsafe
// why: the other thread may make the amount 32, which is the width of the type.
// check: undefined-behavior
// source: own

#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int amount = 31;
unsigned mask = 1;

void *more(void *unused) {
  pthread_mutex_lock(&m);
  amount++;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, more, 0);
  pthread_mutex_lock(&m);
  mask = mask << amount;
  pthread_mutex_unlock(&m);
  pthread_join(t, 0);
  return 0;
}
