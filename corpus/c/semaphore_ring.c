// truth: safe
// why: two semaphores hand one cell over in turn.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

sem_t full, empty;
int buf, got;

void *p(void *a) {
  for (int i = 1; i <= 4; i++) {
    sem_wait(&empty);
    buf = i;
    sem_post(&full);
  }
  return 0;
}

int main(void) {
  pthread_t t;
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 1);
  pthread_create(&t, 0, p, 0);
  for (int i = 1; i <= 4; i++) {
    sem_wait(&full);
    assert(buf == i);
    sem_post(&empty);
  }
  int v;
  sem_getvalue(&empty, &v);
  assert(v == 1);
  pthread_join(t, 0);
  return 0;
}
// finds: explore horn
