// truth: safe
// why: a thread enters when its predecessor hands the lock over.
// check: unreach-call
// source: own

#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
typedef struct mcs_node { _Atomic(struct mcs_node *) next; atomic_int locked; } mcs_node_t;
_Atomic(mcs_node_t *) tail;
struct mcs_node nodes[2];
int x;
void lock(mcs_node_t *n) {
  atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
  atomic_store(&n->locked, 1);
  mcs_node_t *pred = atomic_exchange(&tail, n);
  if (pred) { atomic_store(&pred->next, n); while (atomic_load(&n->locked)) ; }
}
void unlock(mcs_node_t *n) {
  mcs_node_t *next = atomic_load(&n->next);
  if (!next) {
    mcs_node_t *key = n;
    if (atomic_compare_exchange_strong(&tail, &key, NULL)) return;
    do { next = atomic_load(&n->next); } while (!next);
  }
  atomic_store(&next->locked, 0);
}
void *run(void *a) { long i = (long)a; lock(&nodes[i]); x++; assert(x == 1); x--; unlock(&nodes[i]); return 0; }
int main() { pthread_t t[2]; for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, run, (void *)i); for (int i = 0; i < 2; i++) pthread_join(t[i], 0); return 0; }
// finds: explore horn
