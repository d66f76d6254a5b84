// truth: safe
// why: sums that need no rounding are followed.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

double total;
float rate = 0.25f;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *w(void *a) {
  pthread_mutex_lock(&m);
  total += 10 * rate;
  pthread_mutex_unlock(&m);
  return 0;
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, 0);
  pthread_create(&u, 0, w, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(total == 5.0);
  float f = 16777216.0f;
  f = f + 1;
  double d = total++;
  assert(d == 5 && total == 6 && --total == 5);
  d = -d;
  assert(d < 0 && -d == 5 && !(d > 0) && (int)(d / 2) == -2);
  return 0;
}
// finds: explore horn
