// truth: safe
// why: an object of the one pool never becomes one of the other.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

struct node { int kind; };

int main(void) {
  while (__VERIFIER_nondet_int()) {
    struct node *p;
    if (__VERIFIER_nondet_int()) {
      p = malloc(sizeof(struct node));
      p->kind = 1;
    } else {
      p = malloc(sizeof(struct node));
      p->kind = 2;
    }
    assert(p->kind == 1 || p->kind == 2);
  }
  return 0;
}
// finds: none
