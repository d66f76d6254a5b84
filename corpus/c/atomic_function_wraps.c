// truth: safe
// why: the functions on atomics wrap, also on signed types (C11 7.17.7.5).
// check: no-overflow
// source: own

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int n = INT_MAX - 1;

void *adder(void *unused) {
    atomic_fetch_add(&n, 1);
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
// finds: explore
