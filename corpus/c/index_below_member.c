// truth: unsafe
// why: the index -1 names the member before the array, which is another object for C (6.5.6p8).
// check: memory-safety
// source: own

struct { int length; int at[3]; } s;
int index = -1;

int main(void) {
  s.at[index + 1] = 1;
  return s.at[index];
}
