// truth: safe
// why: the thread whose variable is pointed to waits until it is no longer used.
// check: memory-safety
// source: own

#include <pthread.h>
#include <semaphore.h>

__thread int own;
int *last;
sem_t there, done;

void *worker(void *unused) {
    own = 1;
    last = &own;
    sem_post(&there);
    sem_wait(&done);
    return 0;
}

int main(void) {
    pthread_t t;
    sem_init(&there, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&t, 0, worker, 0);
    sem_wait(&there);
    int seen = *last;
    sem_post(&done);
    pthread_join(t, 0);
    return seen - 1;
}
// finds: explore
