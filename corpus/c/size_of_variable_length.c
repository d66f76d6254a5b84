// truth: safe
// why: the size of an array of variable length is that of its declaration, whatever becomes of the variable.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int amount = 2;

void *worker(void *unused) {
    int cells[amount + 1];
    amount = 7;
    assert(sizeof cells == 3 * sizeof(int));
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    return 0;
}
// finds: explore rely horn
