// truth: safe
// check: unreach-call
// Recursive functions have variables of their own in every call.
#include <pthread.h>
#include <assert.h>
int fact(int n) {
  if (n <= 1) return 1;
  return n * fact(n - 1);
}

int gcd(int a, int b) {
  return b ? gcd(b, a % b) : a;
}

int r;
void *t(void *a) {
  r = fact(5);
  return 0;
}

int main() {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  int g = gcd(48, 36);
  pthread_join(p, 0);
  assert(r == 120 && g == 12);
  return 0;
}
// finds: explore rely horn
