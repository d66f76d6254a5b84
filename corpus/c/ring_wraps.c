// truth: safe
// why: indices of one byte wrap around.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#define N 4
int q[N];
unsigned char h, t;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ne = PTHREAD_COND_INITIALIZER, nf = PTHREAD_COND_INITIALIZER;

void put(int v) {
  pthread_mutex_lock(&m);
  while ((unsigned char)(h - t) == N) pthread_cond_wait(&nf, &m);
  q[h++ % N] = v;
  pthread_cond_signal(&ne);
  pthread_mutex_unlock(&m);
}

int get(void) {
  pthread_mutex_lock(&m);
  while (h == t) pthread_cond_wait(&ne, &m);
  int v = q[t++ % N];
  pthread_cond_signal(&nf);
  pthread_mutex_unlock(&m);
  return v;
}

void *w(void *p) {
  for (int i = 0; i < 6; i++) put(i);
  return 0;
}

int main(void) {
  h = t = 253;
  pthread_t a;
  pthread_create(&a, 0, w, 0);
  for (int i = 0; i < 6; i++) assert(get() == i);
  pthread_join(a, 0);
  return 0;
}
// finds: explore
