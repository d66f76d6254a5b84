// truth: safe
// why: each thread sums its own part, and all are joined.
// check: unreach-call
// source: own

#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
#define NT 4
#define N 8
struct job { int id, from, to; const int *data; long sum; };
int data[N];
void *run(void *p) { struct job *j = p; j->sum = 0; for (int i = j->from; i < j->to; i++) j->sum += j->data[i]; return j; }
int main(void) {
  pthread_t t[NT]; struct job jobs[NT]; long total = 0;
  for (int i = 0; i < N; ++i) data[i] = i + 1;
  for (int i = 0; i < NT; ++i) {
    jobs[i] = (struct job){ .id = i, .from = i * N / NT, .to = (i + 1) * N / NT, .data = data };
    if (pthread_create(&t[i], NULL, run, &jobs[i])) exit(EXIT_FAILURE);
  }
  for (int i = 0; i < NT; ++i) { void *r; pthread_join(t[i], &r); total += ((struct job *)r)->sum; }
  assert(total == N * (N + 1) / 2);
  return 0;
}
// finds: explore
