// truth: unsafe
// why: copying the struct reads its atomic member plainly.
// check: no-data-race
// source: own

#include <pthread.h>
#include <stdatomic.h>

struct counters { atomic_int hits; int other; } now, saved;

void *hitter(void *unused) {
  atomic_fetch_add(&now.hits, 1);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, hitter, 0);
  saved = now;
  pthread_join(t, 0);
  return 0;
}
// finds: portfolio
