// truth: unsafe
// why: a spurious wake-up reads from an empty queue.
// check: unreach-call
// source: own

#include <pthread.h>
#include <assert.h>
#include <stdbool.h>
typedef struct { int buf[2]; int head, tail, count; pthread_mutex_t lock; pthread_cond_t not_full, not_empty; bool closed; } queue_t;
static queue_t q = { .lock = PTHREAD_MUTEX_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER };
static void put(queue_t *q, int v) {
  pthread_mutex_lock(&q->lock);
  if (q->count == 2) pthread_cond_wait(&q->not_full, &q->lock);
  q->buf[q->tail] = v;
  q->tail = (q->tail + 1) % 2;
  q->count++;
  pthread_cond_signal(&q->not_empty);
  pthread_mutex_unlock(&q->lock);
}
static int get(queue_t *q) {
  pthread_mutex_lock(&q->lock);
  if (q->count == 0) pthread_cond_wait(&q->not_empty, &q->lock);
  int v = q->buf[q->head];
  q->head = (q->head + 1) % 2;
  q->count--;
  pthread_cond_signal(&q->not_full);
  pthread_mutex_unlock(&q->lock);
  return v;
}
void *producer(void *arg) { int n = *(int *)arg; for (int i = 1; i <= n; i++) put(&q, i); return NULL; }
int main(void) {
  pthread_t t; int n = 4;
  pthread_create(&t, NULL, producer, &n);
  for (int i = 1; i <= 4; i++) { int v = get(&q); assert(v == i); }
  pthread_join(t, NULL);
  assert(q.count == 0);
  return 0;
}
// finds: explore horn
