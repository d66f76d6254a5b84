// truth: unsafe
// why: the address of a thread-local variable outlives its thread, which has been waited for.
// check: memory-safety
// source: own

#include <pthread.h>

__thread int own;
int *last;

void *worker(void *unused) {
    own = 1;
    last = &own;
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    return *last;
}
// finds: portfolio
