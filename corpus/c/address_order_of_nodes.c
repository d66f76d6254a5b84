// truth: unsafe
// why: later allocations need not lie behind earlier ones.
// check: unreach-call
// unmodelled: the order of the addresses of different objects
// source: own

#include <assert.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

struct node { int v; } *last;

int main(void) {
  while (__VERIFIER_nondet_int()) {
    struct node *n = malloc(sizeof *n);
    if (last) assert(last < n);
    last = n;
  }
  return 0;
}
// finds: none
