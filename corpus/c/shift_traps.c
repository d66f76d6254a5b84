// truth: safe
// why: shifts, complements and masks of all widths.
// check: unreach-call
// source: own

#include <assert.h>
#include <stdint.h>

int main(void) {
  uint8_t a = 0x80;
  assert((a << 1) == 256);
  uint8_t b = a << 1;
  assert(b == 0);
  uint32_t x = 0xdeadbeef;
  assert((x >> 16 | x << 16) == 0xbeefdead);
  int64_t y = -1;
  assert((y >> 63) == -1 && ((uint64_t)y >> 63) == 1);
  int s = -16;
  assert(s >> 2 == -4);
  s >>= 1;
  assert(s == -8);
  unsigned u = 1;
  u <<= 31;
  assert(u == 0x80000000u);
  u |= 1;
  u ^= 0x80000001u;
  assert(u == 0);
  assert((5 & 3) == 1 && (5 | 3) == 7 && (5 ^ 3) == 6 && ~5 == -6);
  short h = -1;
  assert((unsigned short)h == 65535 && (h & 0xff00) == 0xff00);
  assert((-1 & 0x7f) == 127);
  long long m = 1LL << 40;
  assert(m == 1099511627776LL && (int)m == 0);
  return 0;
}
// finds: explore rely horn
