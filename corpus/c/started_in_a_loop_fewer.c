// truth: unsafe
// why: each thread adds one, and the loop starts as many as it says, so that all of them may have added theirs.
// check: unreach-call
// source: own

#include <pthread.h>
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int total = 0; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *job(void *a) { pthread_mutex_lock(&m); total++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  int n = __VERIFIER_nondet_int(); pthread_t t;
  for (int i = 0; i < n; i++) { pthread_create(&t, 0, job, 0); }
  pthread_mutex_lock(&m); assert(total < n || n <= 0); pthread_mutex_unlock(&m);
  return 0;
}
// finds: explore
