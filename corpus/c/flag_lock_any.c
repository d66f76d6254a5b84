// truth: safe
// why: only the thread that set the flag is inside; nobody else writes the counter then.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

extern int __VERIFIER_nondet_int(void);

atomic_flag lock = ATOMIC_FLAG_INIT;
int counter;

static void enter(void) {
  while (atomic_flag_test_and_set(&lock))
    ;
}

static void leave(void) { atomic_flag_clear(&lock); }

void *work(void *unused) {
  for (;;) {
    enter();
    int before = counter;
    counter = before + 1;
    assert(counter == before + 1);
    leave();
  }
  return 0;
}

int main(void) {
  int n = __VERIFIER_nondet_int();
  for (int i = 0; i < n; i++) {
    pthread_t id;
    pthread_create(&id, 0, work, 0);
  }
  return 0;
}
// finds: count
