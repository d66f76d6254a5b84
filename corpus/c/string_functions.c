// truth: safe
// why: copies, lengths and comparisons of strings under one mutex.
// check: unreach-call
// source: own

#include <pthread.h>
#include <string.h>
#include <stdlib.h>
#include <assert.h>
char buf[16]; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *w(void *p) { const char *s = p; pthread_mutex_lock(&m); memset(buf, 0, sizeof buf); strcpy(buf, s); assert(strlen(buf) == strlen(s)); pthread_mutex_unlock(&m); return 0; }
int main() {
  pthread_t a, b; char *d = strdup("xyz");
  pthread_create(&a, 0, w, "abc"); pthread_create(&b, 0, w, "de");
  pthread_join(a, 0); pthread_join(b, 0);
  assert(!strcmp(buf, "abc") || !strcmp(buf, "de"));
  assert(strncmp(d, "xya", 2) == 0);
  char c[4]; memcpy(c, d, 4); assert(memcmp(c, "xyz", 4) == 0);
  free(d);
  return 0;
}
// finds: explore
