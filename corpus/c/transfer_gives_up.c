// truth: unsafe
// why: three tries in a row can meet a taken mutex.
// check: unreach-call
// source: own

#include <pthread.h>
#include <assert.h>
struct acct { pthread_mutex_t mu; int balance; };
struct acct a = { PTHREAD_MUTEX_INITIALIZER, 100 }, b = { PTHREAD_MUTEX_INITIALIZER, 100 };
int transfer(struct acct *from, struct acct *to, int amount) {
  int tries = 0;
  do {
    pthread_mutex_lock(&from->mu);
    if (pthread_mutex_trylock(&to->mu) == 0) {
      from->balance -= amount; to->balance += amount;
      pthread_mutex_unlock(&to->mu); pthread_mutex_unlock(&from->mu);
      return 1;
    }
    pthread_mutex_unlock(&from->mu);
  } while (++tries < 3);
  return 0;
}
void *t1(void *x) { return (void *)(long)transfer(&a, &b, 10); }
void *t2(void *x) { return (void *)(long)transfer(&b, &a, 10); }
int main() {
  pthread_t p, q; void *r1, *r2;
  pthread_create(&p, 0, t1, 0); pthread_create(&q, 0, t2, 0);
  pthread_join(p, &r1); pthread_join(q, &r2);
  assert(a.balance + b.balance == 200);
  assert(r1 && r2);
  return 0;
}
// finds: explore horn
