// truth: safe
// check: no-data-race
// Floating-point variables under a mutex.
#include <pthread.h>
double d;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
float avg(float a, float b) {
  return (a + b) / 2;
}

void *t(void *x) {
  pthread_mutex_lock(&m);
  d = avg(d, 1.5f);
  pthread_mutex_unlock(&m);
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  pthread_mutex_lock(&m);
  d++;
  pthread_mutex_unlock(&m);
  pthread_join(p, 0);
  return 0;
}
// finds: explore
