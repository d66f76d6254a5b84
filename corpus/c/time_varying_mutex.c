// truth: safe
// why: which lock protects the block depends on whether it is busy. A lock is a bit: it does not say who holds it.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
int block, inode, m_inode, m_busy;
_Bool busy;

void lock_inode(void) {
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(m_inode == 0);
  m_inode = 1;
  __VERIFIER_atomic_end();
}

void lock_busy(void) {
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(m_busy == 0);
  m_busy = 1;
  __VERIFIER_atomic_end();
}

void *allocate(void *unused) {
  lock_inode();
  if (inode == 0) {
    lock_busy();
    busy = 1;
    m_busy = 0;
    inode = 1;
  }
  block = 1;
  assert(block == 1);
  m_inode = 0;
  return 0;
}

void *release(void *unused) {
  lock_busy();
  if (!busy) {
    block = 0;
    assert(block == 0);
  }
  m_busy = 0;
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
