// truth: safe
// why: a state is left and entered under the mutex; STOP comes only after RUN.
// check: unreach-call
// source: own

#include <pthread.h>
#include <assert.h>
enum st { IDLE, RUN, STOP, DEAD };
static enum st state = IDLE; static int runs;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int step(int cmd) {
  int rc = 0;
  pthread_mutex_lock(&m);
  switch (state) {
  case IDLE: if (cmd == 1) { state = RUN; runs++; } break;
  case RUN: if (cmd == 2) state = STOP; else if (cmd == 3) goto dead; break;
  case STOP: if (cmd == 1) { state = RUN; runs++; break; } /* fall through */
  default: rc = -1; goto out;
  dead: state = DEAD; rc = 1;
  }
out:
  assert(state != STOP || runs > 0);
  pthread_mutex_unlock(&m);
  return rc;
}
void *a(void *x) { int i = 0; do { step(__VERIFIER_nondet_int() % 4); } while (++i < 3); return 0; }
void *b(void *x) { for (;;) { if (step(2) == -1) break; } return 0; }
int main() { pthread_t p, q; pthread_create(&p, 0, a, 0); pthread_create(&q, 0, b, 0); pthread_join(p, 0); pthread_join(q, 0); return 0; }
// finds: horn
