// truth: safe
// why: C11 6.7.9p17: what follows a designated part goes on behind it, inside the same object, then in the one around it; gcc gives the same numbers.
// check: unreach-call
// source: own

#include <assert.h>

struct point { int x, y; };
struct path { struct point a[2]; int length; };
struct path s = { .a[1].x = 3, 4, 5 };
struct point row[3] = { [1] = 5, 6, 7 };
int grid[2][2] = { [1][0] = 3, 4 };
struct { struct { int q, r[3]; } in; int z; } deep = { .in.r[1] = 7, 8, .z = 9 };
struct { union { int i; char c; }; int k; } either = { .c = 'a', 6 };
char names[][4] = { "ab", [2] = "cd" };

int main(void) {
  assert(s.a[1].x == 3 && s.a[1].y == 4 && s.length == 5);
  assert(row[1].x == 5 && row[1].y == 6 && row[2].x == 7 && row[0].x == 0);
  assert(grid[1][0] == 3 && grid[1][1] == 4);
  assert(deep.in.r[1] == 7 && deep.in.r[2] == 8 && deep.in.r[0] == 0 && deep.z == 9);
  assert(either.c == 'a' && either.k == 6);
  assert(sizeof names == 12 && names[2][1] == 'd' && names[1][0] == 0);
  return 0;
}
