// truth: safe
// why: sizes and alignments, packed and not.
// check: unreach-call
// source: own

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

struct a { char c; double d; };
struct b { char c[3]; short s; } ;
union u { char c; long l; };
struct __attribute__((packed)) k { char c; int i; };
enum z { Q = 1 };

int main(void) {
  assert(sizeof(struct a) == 16 && offsetof(struct a, d) == 8);
  assert(sizeof(struct b) == 6 && _Alignof(struct b) == 2);
  assert(sizeof(union u) == 8 && sizeof(void *) == 8 && sizeof(long) == 8);
  assert(sizeof(struct k) == 5);
  assert(sizeof(enum z) == 4 && sizeof(bool) == 1 && sizeof(wchar_t) == 4);
  int arr[7];
  assert(sizeof arr == 28 && sizeof &arr == 8 && sizeof *arr == 4);
  char s[] = "hello";
  assert(sizeof s == 6);
  assert(sizeof(1 ? 1 : 2L) == 8);
  assert(sizeof(short) == 2 && SIZE_MAX == UINT64_MAX);
  return 0;
}
// finds: explore rely horn
