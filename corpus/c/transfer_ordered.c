// truth: safe
// why: two mutexes in the order of their indices.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int bal[2] = { 100, 100 };
pthread_mutex_t m[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

void move(int a, int b, int k) {
  int lo = a < b ? a : b, hi = a < b ? b : a;
  pthread_mutex_lock(&m[lo]);
  pthread_mutex_lock(&m[hi]);
  bal[a] -= k;
  bal[b] += k;
  pthread_mutex_unlock(&m[hi]);
  pthread_mutex_unlock(&m[lo]);
}

void *w(void *q) {
  move(0, 1, 10);
  return 0;
}

void *v(void *q) {
  move(1, 0, 20);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, v, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(bal[0] == 110 && bal[1] == 90);
  return 0;
}
// finds: explore horn
