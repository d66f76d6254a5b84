// truth: safe
// why: every access to the device holds its semaphore.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern int __VERIFIER_nondet_int(void);
pthread_mutex_t sem = PTHREAD_MUTEX_INITIALIZER;
struct device { int size, quantum, qset, data; } dev = { 0, 4000, 1000, 0 };

void trim(struct device *d) {
  d->data = 0;
  d->size = 0;
  d->quantum = 4000;
  d->qset = 1000;
}

int dev_write(struct device *d, int mark) {
  pthread_mutex_lock(&sem);
  d->data = mark;
  if (d->size < 100)
    d->size++;
  assert(d->data == mark);
  pthread_mutex_unlock(&sem);
  return 1;
}

int dev_read(struct device *d, int pos) {
  int got = 0;
  pthread_mutex_lock(&sem);
  if (pos < d->size) {
    got = d->data;
    assert(d->data == got);
    if (got > d->quantum)
      got = d->quantum;
  }
  pthread_mutex_unlock(&sem);
  return got;
}

void *writer(void *unused) {
  pthread_mutex_lock(&sem);
  trim(&dev);
  pthread_mutex_unlock(&sem);
  dev_write(&dev, 1);
  dev_write(&dev, 2);
  return 0;
}

void *reader(void *unused) {
  int got = dev_read(&dev, 0);
  assert(got >= 0 && got <= 2);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore rely horn
