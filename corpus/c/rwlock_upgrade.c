// truth: unsafe
// why: two readers that want to write wait for each other.
// check: no-deadlock
// source: own

#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x;

void *w(void *a) {
  pthread_rwlock_rdlock(&l);
  if (x == 0) {
    pthread_rwlock_wrlock(&l);
    x = 1;
    pthread_rwlock_unlock(&l);
  }
  pthread_rwlock_unlock(&l);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, w, 0);
  pthread_create(&b, 0, w, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore
