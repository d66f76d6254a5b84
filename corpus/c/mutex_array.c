// truth: safe
// check: no-data-race
// An element and its mutex, chosen by an index that can be any.
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
#define N 4
pthread_mutex_t m[N];
int v[N];
void *t(void *a) {
  int i = __VERIFIER_nondet_int();
  if (i < 0 || i >= N) return 0;
  pthread_mutex_lock(&m[i]);
  v[i]++;
  pthread_mutex_unlock(&m[i]);
  return 0;
}

int main(void) {
  pthread_t p1, p2;
  for (int i = 0; i < N; i++) pthread_mutex_init(&m[i], NULL);
  pthread_create(&p1, 0, t, 0);
  pthread_create(&p2, 0, t, 0);
  return 0;
}
// finds: explore
