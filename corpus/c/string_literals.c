// truth: safe
// check: unreach-call
// Characters of string literals, also through tables of pointers.
#include <pthread.h>
#include <assert.h>
const char *msg = "hello";
const char *const tab[] = { "ab", "cde" };
int len(const char *s) {
  int n = 0;
  while (*s++) n++;
  return n;
}

int r;
void *t(void *a) {
  const char *s = a;
  assert(s[1] == 'e' && "xyz"[2] == 'z');
  r = len(tab[1]);
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, (void*)msg);
  pthread_join(p, 0);
  assert(r == 3);
  return 0;
}
// finds: explore rely horn
