// truth: unsafe
// why: the time may be over before the other thread posts.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

sem_t s;
int got;
struct timespec ts;

void *w(void *a) {
  if (sem_timedwait(&s, &ts) == 0) got = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  sem_init(&s, 0, 0);
  pthread_create(&t, 0, w, 0);
  sem_post(&s);
  pthread_join(t, 0);
  assert(got);
  return 0;
}
// finds: explore horn
