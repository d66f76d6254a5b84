// truth: unsafe
// why: the index is beyond the first row, though not beyond the table.
// check: memory-safety
// source: own

int table[2][2];

int main(void) {
  int(*p)[2] = table;
  int i = 2;
  return p[0][i];
}
// finds: portfolio
