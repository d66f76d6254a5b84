// truth: safe
// why: conversions, promotions, shifts and division are those of C.
// check: unreach-call
// source: own

#include <assert.h>
#include <limits.h>
#include <stdint.h>

signed char sc;
unsigned char uc;
short sh;
unsigned short us;
unsigned u;
int i;
long long ll;
unsigned long long ull;

int main(void) {
  sc = 200;
  assert(sc == -56);
  assert(sc < 0);
  uc = -1;
  assert(uc == 255);
  assert(uc > 0);
  assert((signed char)uc == -1);
  assert((sc == 200) == 0);
  us = 65535;
  sh = us;
  assert(sh == -1);
  assert(us + 1 == 65536);
  us++;
  assert(us == 0);
  u = 0;
  u--;
  assert(u == UINT_MAX);
  assert(u > 0);
  assert(-1 > 0u);
  assert(-1 < (long long)0u);
  i = -1;
  assert(i > u - 1 || i == u);
  assert((unsigned)i == u);
  ll = u;
  assert(ll == 4294967295LL);
  ll = i;
  assert(ll == -1);
  ull = i;
  assert(ull == ULLONG_MAX);
  ull = (unsigned)i;
  assert(ull == 4294967295ULL);
  assert(1u << 31 == 2147483648u);
  assert((1u << 31) >> 31 == 1);
  assert(-8 >> 1 == -4);
  assert(-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3 && 7 % -2 == 1);
  assert((uint8_t)(uc << 1) == 254);
  assert((uc << 1) == 510);
  assert((uint8_t)~uc == 0);
  assert(~uc == -256);
  assert(~0u == UINT_MAX && (char)0x80 == -128);
  assert(sizeof(sc + sc) == sizeof(int));
  assert(sizeof(char) == 1);
  assert(sizeof 'a' == sizeof(int));
  assert((sizeof(int) - 5 > 0));
  uc = 255;
  uc += 2;
  assert(uc == 1);
  sh = 32767;
  sh++;
  assert(sh == -32768);
  sc = 127;
  sc++;
  assert(sc == -128);
  sc = -sc;
  assert(sc == -128);
  _Bool b = 256;
  assert(b == 1);
  b = 0.0 ;
  assert(!b);
  b += 5;
  assert(b == 1);
  b--;
  assert(b == 0);
  int x = 5;
  x ^= x << 13;
  x ^= (int)((unsigned)x >> 17);
  assert(x == (5 ^ (5 << 13)));
  assert(('\377' == -1));
  assert('\xff' == -1);
  assert((3 ? 1 : 2u) > -1 == 0);
  assert(0x80000000 > 0);
  assert(2147483648 > 0);
  assert(-2147483648 < 0);
  assert(INT64_MIN / 1 == INT64_MIN);
  assert((uint32_t)-1 == 0xffffffffu);
  assert((int16_t)40000 == 40000 - 65536);
  assert(010 == 8 && 0x10 == 16);
  return 0;
}
// finds: explore rely horn
