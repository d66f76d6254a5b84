// truth: unsafe
// why: the operators of atomics compute as everywhere (C11 6.5.16.2), so the last increment overflows.
// check: no-overflow
// source: own

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int n = INT_MAX - 1;

void *adder(void *unused) {
    n++;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, adder, 0);
    pthread_create(&b, 0, adder, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
// finds: portfolio
