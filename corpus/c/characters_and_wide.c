// truth: safe
// why: C11 6.4.4.4 and 6.4.5: an escaped quote is a quote, wide strings have elements of their type, `__func__` is an array.
// check: unreach-call
// source: own

#include <assert.h>
#include <stddef.h>

wchar_t wide[] = L"a\x141";
unsigned long a = ~0UL, b = 0x9E3779B97F4A7C15UL;

int main(void) {
  assert('\'' == 39 && '"' == 34 && '\\' == 92);
  assert(sizeof(L"ab") == 3 * sizeof(wchar_t) && sizeof wide == 3 * sizeof(wchar_t));
  assert(wide[1] == 0x141 && wide[2] == 0);
  assert(sizeof __func__ == 5 && __func__[1] == 'a');
  // Of a product too large for any machine number the low bits are what counts.
  assert(a * a == 1 && a * b == -b);
  return 0;
}
