// truth: safe
// why: one writer and one reader share a ring through two counters.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int ring[2];
unsigned head, tail;

void *producer(void *unused) {
  for (int i = 0; i < 3; i++) {
    while (head - tail == 2)
      ;
    ring[head % 2] = i + 1;
    head = head + 1;
  }
  return 0;
}

void *consumer(void *unused) {
  for (int i = 0; i < 3; i++) {
    while (head == tail)
      ;
    int v = ring[tail % 2];
    assert(v == i + 1);
    tail = tail + 1;
  }
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
