// truth: safe
// check: unreach-call
// A union looked at as a number and as bytes.
#include <pthread.h>
#include <assert.h>
union u {
  int i;
  unsigned char c[4];
} g;
void *t(void *a) {
  g.i = 0x01020304;
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  pthread_join(p, 0);
  assert(g.c[0] == 4 && g.c[3] == 1);
  g.c[1] = 0xff;
  assert(g.i == 0x0102ff04);
  return 0;
}
// finds: explore rely horn
