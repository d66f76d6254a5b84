// truth: safe
// why: POSIX and C promise these results: setting up attributes succeeds, a process has one number, a pause without handlers is not cut short, times are times, and functions that never return do not.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

_Noreturn void die(const char *text);
int process;

void *same(void *unused) {
  assert(getpid() == process);
  return 0;
}

int main(void) {
  pthread_attr_t attributes;
  assert(pthread_attr_init(&attributes) == 0 && pthread_attr_destroy(&attributes) == 0);
  assert(sched_yield() == 0 && sleep(1) == 0);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  assert(now.tv_nsec >= 0 && now.tv_nsec < 1000000000);
  int c = getchar();
  assert(c >= -1 && c <= 255);
  if (c < 0)
    die("nothing");
  assert(c >= 0);
  assert(snprintf(0, 0, "abc") == 3);
  process = getpid();
  pthread_t t;
  pthread_create(&t, 0, same, 0);
  pthread_join(t, 0);
  return 0;
}
