// truth: unsafe
// why: the second worker's array has the length that the first one has set.
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
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        pthread_create(&t, 0, worker, 0);
        pthread_join(t, 0);
    }
    return 0;
}
// finds: portfolio
