// truth: safe
// why: the request is marked as pending before it is issued.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

extern _Bool __VERIFIER_nondet_bool(void);
_Bool issued, io_pending, raised;
int bytes, err;

void *done(void *unused) {
  while (!issued)
    ;
  err = __VERIFIER_nondet_bool() ? -1 : 0;
  bytes = 512;
  assert(raised);
  io_pending = 0;
  return 0;
}

void *request(void *unused) {
  io_pending = 1;
  raised = 1;
  issued = 1;
  while (io_pending)
    ;
  assert(bytes == 512);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, request, 0);
  pthread_create(&b, 0, done, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore horn
