// truth: unsafe
// why: the index is beyond the array, and hits the member behind it.
// check: memory-safety
// source: own

struct pair { int a[2]; int b; } pair;

int main(void) {
  int i = 2;
  pair.a[i] = 1;
  return 0;
}
// finds: portfolio
