// truth: unsafe
// why: the first character is looked at while it may already be copied.
// check: unreach-call
// source: own

void reach_error() {}
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
char *v;
void *thread1(void *arg) { v = malloc(sizeof(char) * 8); return 0; }
void *thread2(void *arg) { if (v) strcpy(v, "Bigshot"); return 0; }
int main() {
  pthread_t t1, t2;
  pthread_create(&t1, 0, thread1, 0);
  pthread_join(t1, 0);
  pthread_create(&t2, 0, thread2, 0);
  if (v && v[0] == 'B') { reach_error(); abort(); }
  return 0;
}
// finds: explore horn
