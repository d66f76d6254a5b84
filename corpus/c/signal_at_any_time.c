// truth: unsafe
// why: the signal may come between the two increments, and then the handler sees different numbers.
// check: unreach-call
// unmodelled: `signal`
// source: own

#include <assert.h>
#include <signal.h>

volatile sig_atomic_t begun, done;

void look(int number) { assert(begun == done); }

int main(void) {
  signal(SIGUSR1, look);
  for (int i = 0; i < 20; i++) {
    begun++;
    done++;
  }
  return 0;
}
