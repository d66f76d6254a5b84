// truth: unsafe
// why: a string literal may not be written.
// check: memory-safety
// source: own

int main(void) {
  char *s = "text";
  s[0] = 'T';
  return 0;
}
// finds: portfolio
