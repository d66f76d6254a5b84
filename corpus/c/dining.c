// truth: unsafe
// why: three philosophers, each takes the left fork first: all may hold one and wait for the other.
// check: no-deadlock
// source: own

#include <pthread.h>
#include <stddef.h>

#define N 3

pthread_mutex_t fork_of[N];
int meals[N];

void *philosopher(void *arg) {
  int me = (int)(size_t)arg;
  pthread_mutex_t *left = &fork_of[me], *right = &fork_of[(me + 1) % N];
  pthread_mutex_lock(left);
  pthread_mutex_lock(right);
  meals[me]++;
  pthread_mutex_unlock(right);
  pthread_mutex_unlock(left);
  return NULL;
}

int main(void) {
  pthread_t guests[N];
  for (int i = 0; i < N; i++)
    pthread_mutex_init(&fork_of[i], NULL);
  for (int i = 0; i < N; i++)
    pthread_create(&guests[i], NULL, philosopher, (void *)(size_t)i);
  for (int i = 0; i < N; i++)
    pthread_join(guests[i], NULL);
  return 0;
}
// finds: explore
