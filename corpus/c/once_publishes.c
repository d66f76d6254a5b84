// truth: safe
// why: what the first caller made is ready for all.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdlib.h>

pthread_once_t o = PTHREAD_ONCE_INIT;
int *tab;

void init(void) {
  tab = malloc(4 * sizeof *tab);
  for (int i = 0; i < 4; i++) tab[i] = i;
}

void *w(void *a) {
  pthread_once(&o, init);
  return (void *)(long)tab[(long)a];
}

int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, w, (void *)1L);
  pthread_create(&u, 0, w, (void *)3L);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
// finds: explore
