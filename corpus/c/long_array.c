// truth: safe
// why: each thread writes its own half of a long array.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

int row[100];

void *one(void *unused) {
  row[0] = 1;
  row[49] = 2;
  return 0;
}

void *two(void *unused) {
  row[50] = 3;
  row[99] = 4;
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(row[0] + row[49] + row[50] + row[99] == 10 && row[1] == 0);
  return 0;
}
// finds: explore rely horn
