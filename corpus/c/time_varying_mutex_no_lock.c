// truth: unsafe
// why: the busy bit is set without its mutex.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int block, inode;
_Bool busy;
pthread_mutex_t m_inode = PTHREAD_MUTEX_INITIALIZER, m_busy = PTHREAD_MUTEX_INITIALIZER;

void *allocate(void *unused) {
  pthread_mutex_lock(&m_inode);
  if (inode == 0) {
    busy = 1;
    inode = 1;
  }
  block = 1;
  assert(block == 1);
  pthread_mutex_unlock(&m_inode);
  return 0;
}

void *release(void *unused) {
  pthread_mutex_lock(&m_busy);
  if (!busy) {
    block = 0;
    assert(block == 0);
  }
  pthread_mutex_unlock(&m_busy);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, allocate, 0);
  pthread_create(&b, 0, release, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
