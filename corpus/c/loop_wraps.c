// truth: unsafe
// why: an unsigned counter is never below zero.
// check: memory-safety
// source: own

int a[4];
int main(void) {
  for (unsigned i = 3; i >= 0; i--) a[i] = 1;
  return 0;
}
// finds: explore horn
