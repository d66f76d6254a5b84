// truth: unsafe
// why: the function writes through a pointer to an object that is defined `const` (C11 6.7.3p6).
// check: memory-safety
// source: own

const int limit = 5;
int own = 4;

void set(const int *at) { *(int *)at = 6; }

int main(void) {
  set(&own);
  set(&limit);
  return 0;
}
