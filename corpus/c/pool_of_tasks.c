// truth: safe
// check: unreach-call
// A pool of workers with a list of tasks and a condition variable.
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
#define N 3
struct task {
  void (*f)(int);
  int arg;
  struct task *next;
};
static struct task *queue;
static int stop, done;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void work(int k) {
  pthread_mutex_lock(&m);
  done += k;
  pthread_mutex_unlock(&m);
}

static void *worker(void *a) {
  for (;;) {
    pthread_mutex_lock(&m);
    while (!queue && !stop) pthread_cond_wait(&c, &m);
    if (!queue) {
      pthread_mutex_unlock(&m);
      return 0;
    }
    struct task *t = queue;
    queue = t->next;
    pthread_mutex_unlock(&m);
    t->f(t->arg);
    free(t);
  }
}

static void submit(void (*f)(int), int arg) {
  struct task *t = malloc(sizeof *t);
  t->f = f;
  t->arg = arg;
  pthread_mutex_lock(&m);
  t->next = queue;
  queue = t;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
}

int main() {
  pthread_t p[2];
  for (int i = 0; i < 2; i++) pthread_create(&p[i], 0, worker, 0);
  for (int i = 1; i <= N; i++) submit(work, i);
  pthread_mutex_lock(&m);
  stop = 1;
  pthread_cond_broadcast(&c);
  pthread_mutex_unlock(&m);
  for (int i = 0; i < 2; i++) pthread_join(p[i], 0);
  assert(done == 6);
  return 0;
}
// finds: explore
