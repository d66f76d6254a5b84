// truth: safe
// why: the writer looks again.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x, made;

void *w(void *a) {
  pthread_rwlock_rdlock(&l);
  int have = x;
  pthread_rwlock_unlock(&l);
  if (!have) {
    pthread_rwlock_wrlock(&l);
    if (!x) {
      x = 1;
      made++;
    }
    pthread_rwlock_unlock(&l);
  }
  return 0;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, w, 0);
  pthread_create(&b, 0, w, 0);
  pthread_create(&c, 0, w, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  assert(made == 1);
  return 0;
}
// finds: explore
