/* Functions of the C library that are programs themselves: strings and stretches of bytes.

   Comes in: appended to a program that mentions one of them. Goes out: bodies that calls without a body of their own are
   inlined from; each step of them is told as a step of the call. The names keep out of the program's way. Absent on
   purpose: what depends on the locale, and results that are only promised a sign have the values of a plain loop. */

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
  return (unsigned char)a[i] - (unsigned char)b[i];
}

int __tp_strncmp(const char *a, const char *b, unsigned long most) {
  unsigned long i = 0;
  while (i < most && a[i] && a[i] == b[i])
    i++;
  return i == most ? 0 : (unsigned char)a[i] - (unsigned char)b[i];
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
  return i == n ? 0 : a[i] - b[i];
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
