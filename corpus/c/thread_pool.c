// truth: safe
// why: a pool of workers that take tasks, each a function and its argument, from a queue; after the last one every task has run once.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

#define TASKS 3
#define WORKERS 2

typedef struct {
  void (*run)(int *);
  int *argument;
} task_t;

static task_t queue[TASKS];
static int head, tail;
static int closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int results[TASKS];

static void add_one(int *cell) { *cell += 1; }
static void add_two(int *cell) { *cell += 2; }

static void submit(void (*run)(int *), int *argument) {
  pthread_mutex_lock(&lock);
  queue[tail].run = run;
  queue[tail].argument = argument;
  tail++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&lock);
    while (head == tail && !closed)
      pthread_cond_wait(&filled, &lock);
    if (head == tail) {
      pthread_mutex_unlock(&lock);
      return 0;
    }
    task_t task = queue[head++];
    pthread_mutex_unlock(&lock);
    task.run(task.argument);
  }
}

int main(void) {
  pthread_t pool[WORKERS];
  for (int i = 0; i < WORKERS; i++)
    pthread_create(&pool[i], 0, worker, 0);
  submit(add_one, &results[0]);
  submit(add_two, &results[1]);
  submit(add_one, &results[2]);
  pthread_mutex_lock(&lock);
  closed = 1;
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; i++)
    pthread_join(pool[i], 0);
  assert(results[0] == 1 && results[1] == 2 && results[2] == 1);
  return 0;
}
// finds: explore
