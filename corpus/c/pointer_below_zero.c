// truth: safe
// why: a negative number that becomes a pointer is the largest number as wide as a pointer, less what is missing, and becomes the negative number again.
// check: unreach-call
// source: own

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

long below = 5;
void *handed;

void *thread(void *argument) {
  assert((long)argument == -2 && argument == (void *)-2L);
  return (void *)(intptr_t)-3;
}

int main(void) {
  while (below > -2) below--;
  handed = (void *)below;
  assert((uintptr_t)handed > 5);
  pthread_t t;
  void *result;
  pthread_create(&t, 0, thread, handed);
  pthread_join(t, &result);
  assert((intptr_t)result == -3 && (int)(long)result == -3);
  return 0;
}
// finds: rely horn
