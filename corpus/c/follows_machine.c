// truth: safe
// check: unreach-call
// The worker says in a machine what it does to the shared variables; the machine is checked, and then stands for it.
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
  value = 7;
  ready = 1;
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  if (ready)
    assert(value == 7);
  return 0;
}
// finds: conform
