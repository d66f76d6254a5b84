// truth: unsafe
// check: unreach-call
// The worker announces the value before it is there, which its machine does not allow.
#include <assert.h>
#include <pthread.h>

int ready, value;

//@ machine Worker {
//@   start Idle;
//@   state Filled;
//@   state Done asserts value == 7;
//@   Idle -> Filled : <value> value' == 7;
//@   Filled -> Done : <ready> ready' == 1;
//@ }

//@ follows Worker
void *worker(void *unused) {
  ready = 1;
  value = 7;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  if (ready)
    assert(value == 7);
  return 0;
}
// finds: explore horn conform
