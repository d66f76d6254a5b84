// truth: safe
// why: unsigned arithmetic wraps, narrow types convert.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>

unsigned u;
unsigned char c = 250;

void *one(void *unused) {
  u = u - 1;
  assert(u == 4294967295u || u == 0);
  return 0;
}

void *two(void *unused) {
  for (int i = 0; i < 10; i++)
    c++;
  assert(c == 4);
  short s = 32767;
  s++;
  assert(s == -32768);
  assert((signed char)c - 200 == -196 && -7 / 2 == -3 && -7 % 2 == -1);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
// finds: explore rely horn
