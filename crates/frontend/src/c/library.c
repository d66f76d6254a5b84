/* Functions of the C library that are programs themselves: strings and stretches of bytes.

   Comes in: appended to a program that mentions one of them. Goes out: bodies that calls without a body of their own are
   inlined from; each step of them is reported as a step of the call. The names keep out of the program's way. Absent on
   purpose: what depends on the locale, and wide characters. */

/* One of several numbers of the sign of its argument: all that is promised of some results. */
int __tp_like(int);

/* Reads so many bytes. */
void __tp_touch(const char *s, unsigned long n) {
  char last;
  for (unsigned long i = 0; i < n; i++)
    last = s[i];
}

unsigned long __tp_strlen(const char *s) {
  unsigned long n = 0;
  while (s[n])
    n++;
  return n;
}

unsigned long __tp_strnlen(const char *s, unsigned long most) {
  unsigned long n = 0;
  while (n < most && s[n])
    n++;
  return n;
}

char *__tp_strcpy(char *to, const char *from) {
  unsigned long i = 0;
  while ((to[i] = from[i]))
    i++;
  return to;
}

char *__tp_stpcpy(char *to, const char *from) {
  unsigned long i = 0;
  while ((to[i] = from[i]))
    i++;
  return to + i;
}

char *__tp_strncpy(char *to, const char *from, unsigned long most) {
  unsigned long i = 0;
  while (i < most && (to[i] = from[i]))
    i++;
  while (i < most)
    to[i++] = 0;
  return to;
}

char *__tp_strcat(char *to, const char *from) {
  unsigned long n = 0, i = 0;
  while (to[n])
    n++;
  while ((to[n + i] = from[i]))
    i++;
  return to;
}

char *__tp_strncat(char *to, const char *from, unsigned long most) {
  unsigned long n = 0, i = 0;
  while (to[n])
    n++;
  while (i < most && from[i]) {
    to[n + i] = from[i];
    i++;
  }
  to[n + i] = 0;
  return to;
}

int __tp_strcmp(const char *a, const char *b) {
  unsigned long i = 0;
  while (a[i] && a[i] == b[i])
    i++;
  return __tp_like((unsigned char)a[i] - (unsigned char)b[i]);
}

int __tp_strncmp(const char *a, const char *b, unsigned long most) {
  unsigned long i = 0;
  while (i < most && a[i] && a[i] == b[i])
    i++;
  return i == most ? 0 : __tp_like((unsigned char)a[i] - (unsigned char)b[i]);
}

char *__tp_strchr(const char *s, int wanted) {
  unsigned long i = 0;
  while (s[i] != (char)wanted && s[i])
    i++;
  return s[i] == (char)wanted ? (char *)s + i : (char *)0;
}

char *__tp_strrchr(const char *s, int wanted) {
  unsigned long i = 0;
  char *found = (char *)0;
  do {
    if (s[i] == (char)wanted)
      found = (char *)s + i;
  } while (s[i++]);
  return found;
}

int __tp_memcmp(const unsigned char *a, const unsigned char *b, unsigned long n) {
  unsigned long i = 0;
  while (i < n && a[i] == b[i])
    i++;
  return i == n ? 0 : __tp_like(a[i] - b[i]);
}

char *__tp_memset(char *to, int value, unsigned long n) {
  for (unsigned long i = 0; i < n; i++)
    to[i] = (char)value;
  return to;
}

char *__tp_memcpy(char *to, const char *from, unsigned long n) {
  for (unsigned long i = 0; i < n; i++)
    to[i] = from[i];
  return to;
}

char *__tp_memmove(char *to, const char *from, unsigned long n) {
  if (to <= from)
    for (unsigned long i = 0; i < n; i++)
      to[i] = from[i];
  else
    for (unsigned long i = n; i > 0; i--)
      to[i - 1] = from[i - 1];
  return to;
}

void *__builtin_malloc(unsigned long);
char *__tp_strdup(const char *s) {
  unsigned long n = 0;
  while (s[n])
    n++;
  char *to = (char *)__builtin_malloc(n + 1);
  for (unsigned long i = 0; i <= n; i++)
    to[i] = s[i];
  return to;
}

char *__tp_strstr(const char *s, const char *wanted) {
  for (unsigned long i = 0;; i++) {
    unsigned long n = 0;
    while (wanted[n] && s[i + n] == wanted[n])
      n++;
    if (!wanted[n])
      return (char *)s + i;
    if (!s[i])
      return (char *)0;
  }
}

char *__tp_memchr(const unsigned char *s, int wanted, unsigned long n) {
  for (unsigned long i = 0; i < n; i++)
    if (s[i] == (unsigned char)wanted)
      return (char *)s + i;
  return (char *)0;
}

int __tp_toupper(int c) {
  return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

int __tp_tolower(int c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Bits, counted from the lowest; of zero the positions are not asked. */

int __tp_popcountll(unsigned long long x) {
  int n = 0;
  for (int i = 0; i < 64; i++) {
    n += (int)(x % 2);
    x /= 2;
  }
  return n;
}

int __tp_popcount(unsigned x) {
  int n = 0;
  for (int i = 0; i < 32; i++) {
    n += (int)(x % 2);
    x /= 2;
  }
  return n;
}

int __tp_popcountl(unsigned long x) {
  return __tp_popcountll(x);
}

int __tp_parity(unsigned x) {
  return __tp_popcount(x) % 2;
}

int __tp_ctzll(unsigned long long x) {
  int n = 0;
  while (x % 2 == 0 && n < 64) {
    n++;
    x /= 2;
  }
  return n;
}

int __tp_ctz(unsigned x) {
  return __tp_ctzll(x);
}

int __tp_ctzl(unsigned long x) {
  return __tp_ctzll(x);
}

int __tp_ffs(int x) {
  return x ? __tp_ctzll((unsigned)x) + 1 : 0;
}

int __tp_ffsl(long x) {
  return x ? __tp_ctzll((unsigned long)x) + 1 : 0;
}

int __tp_clz(unsigned x) {
  int n = 0;
  while (x < 2147483648u && n < 32) {
    n++;
    x *= 2;
  }
  return n;
}

int __tp_clzll(unsigned long long x) {
  int n = 0;
  while (x < 9223372036854775808ull && n < 64) {
    n++;
    x *= 2;
  }
  return n;
}

unsigned __tp_bswap32(unsigned x) {
  return x % 256 * 16777216u + x / 256 % 256 * 65536u + x / 65536 % 256 * 256u + x / 16777216;
}

/* Characters, as in the C locale, in which every program begins. */

int __tp_isdigit(int c) {
  return __tp_like(c >= '0' && c <= '9');
}

int __tp_isupper(int c) {
  return __tp_like(c >= 'A' && c <= 'Z');
}

int __tp_islower(int c) {
  return __tp_like(c >= 'a' && c <= 'z');
}

int __tp_isalpha(int c) {
  return __tp_like((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
}

int __tp_isalnum(int c) {
  return __tp_like((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
}

int __tp_isxdigit(int c) {
  return __tp_like((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'));
}

int __tp_isspace(int c) {
  return __tp_like(c == ' ' || (c >= 9 && c <= 13));
}

int __tp_isblank(int c) {
  return __tp_like(c == ' ' || c == 9);
}

int __tp_iscntrl(int c) {
  return __tp_like((c >= 0 && c < 32) || c == 127);
}

int __tp_isprint(int c) {
  return __tp_like(c >= 32 && c < 127);
}

int __tp_isgraph(int c) {
  return __tp_like(c > 32 && c < 127);
}

int __tp_ispunct(int c) {
  return __tp_like(c > 32 && c < 127 && !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')));
}

/* Decimal numbers. What does not fit is undefined. */

long long __tp_atoll(const char *s) {
  unsigned long i = 0;
  long long value = 0;
  int minus;
  while (s[i] == ' ' || (s[i] >= 9 && s[i] <= 13))
    i++;
  minus = s[i] == '-';
  if (s[i] == '-' || s[i] == '+')
    i++;
  while (s[i] >= '0' && s[i] <= '9') {
    value = minus ? value * 10 - (s[i] - '0') : value * 10 + (s[i] - '0');
    i++;
  }
  return value;
}

long __tp_atol(const char *s) {
  return (long)__tp_atoll(s);
}

int __tp_atoi(const char *s) {
  return (int)__tp_atoll(s);
}

/* Numbers in any base. What does not fit becomes the largest or the least number; `errno`, which it sets, is not followed. */

int __tp_digit_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/* The number that a text begins with, up to a limit that depends on its sign. */
unsigned long long __tp_number_in(const char *s, char **end, int base, unsigned long long most, unsigned long long least, int *minus) {
  unsigned long i = 0;
  unsigned long long value = 0, limit;
  int digits = 0, over = 0;
  while (s[i] == ' ' || (s[i] >= 9 && s[i] <= 13))
    i++;
  *minus = s[i] == '-';
  if (s[i] == '-' || s[i] == '+')
    i++;
  limit = *minus ? least : most;
  if ((base == 0 || base == 16) && s[i] == '0' && (s[i + 1] == 'x' || s[i + 1] == 'X') && __tp_digit_value(s[i + 2]) < 16) {
    i += 2;
    base = 16;
  } else if (base == 0)
    base = s[i] == '0' ? 8 : 10;
  while (__tp_digit_value(s[i]) < base) {
    unsigned digit = (unsigned)__tp_digit_value(s[i]);
    digits = 1;
    if (over || value > (limit - digit) / (unsigned)base)
      over = 1;
    else
      value = value * (unsigned)base + digit;
    i++;
  }
  if (end)
    *end = (char *)s + (digits ? i : 0);
  return over ? limit : value;
}

long __tp_strtol(const char *s, char **end, int base) {
  int minus;
  unsigned long most = (unsigned long)-1 / 2;
  unsigned long value = (unsigned long)__tp_number_in(s, end, base, most, (unsigned long long)most + 1, &minus);
  return minus ? (long)(0ul - value) : (long)value;
}

long long __tp_strtoll(const char *s, char **end, int base) {
  int minus;
  unsigned long long most = (unsigned long long)-1 / 2;
  unsigned long long value = __tp_number_in(s, end, base, most, most + 1, &minus);
  return minus ? (long long)(0ull - value) : (long long)value;
}

/* A minus makes the number negative, modulo the size of the type; what does not fit stays the largest number. */
unsigned long __tp_strtoul(const char *s, char **end, int base) {
  int minus;
  unsigned long most = (unsigned long)-1;
  unsigned long value = (unsigned long)__tp_number_in(s, end, base, most, most, &minus);
  return minus && value != most ? 0ul - value : value;
}

unsigned long long __tp_strtoull(const char *s, char **end, int base) {
  int minus;
  unsigned long long most = (unsigned long long)-1;
  unsigned long long value = __tp_number_in(s, end, base, most, most, &minus);
  return minus && value != most ? 0ull - value : value;
}

/* Words. */

unsigned long __tp_strspn(const char *s, const char *set) {
  unsigned long n = 0, i;
  for (;; n++) {
    for (i = 0; set[i] && set[i] != s[n]; i++)
      ;
    if (!s[n] || !set[i])
      return n;
  }
}

unsigned long __tp_strcspn(const char *s, const char *set) {
  unsigned long n = 0, i;
  for (; s[n]; n++)
    for (i = 0; set[i]; i++)
      if (set[i] == s[n])
        return n;
  return n;
}

char *__tp_strpbrk(const char *s, const char *set) {
  unsigned long n = __tp_strcspn(s, set);
  return s[n] ? (char *)s + n : (char *)0;
}

char *__tp_strtok_r(char *s, const char *set, char **rest) {
  char *word = s ? s : *rest;
  unsigned long n;
  word += __tp_strspn(word, set);
  if (!*word) {
    *rest = word;
    return (char *)0;
  }
  n = __tp_strcspn(word, set);
  *rest = word + n;
  if (word[n]) {
    word[n] = 0;
    *rest = word + n + 1;
  }
  return word;
}

int __tp_strcasecmp(const char *a, const char *b) {
  unsigned long i = 0;
  while (a[i] && __tp_tolower((unsigned char)a[i]) == __tp_tolower((unsigned char)b[i]))
    i++;
  return __tp_like(__tp_tolower((unsigned char)a[i]) - __tp_tolower((unsigned char)b[i]));
}

int __tp_strncasecmp(const char *a, const char *b, unsigned long most) {
  unsigned long i = 0;
  while (i < most && a[i] && __tp_tolower((unsigned char)a[i]) == __tp_tolower((unsigned char)b[i]))
    i++;
  return i == most ? 0 : __tp_like(__tp_tolower((unsigned char)a[i]) - __tp_tolower((unsigned char)b[i]));
}
