// truth: safe
// why: the thread frees what it is handed, main frees the results, and the list hangs on a variable of static storage.
// check: valid-memsafety
// source: own

#include <pthread.h>
#include <stdlib.h>

struct node { int value; struct node *next; };
static struct node *head;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *work(void *argument) {
  int *given = argument;
  struct node *fresh = malloc(sizeof(struct node));
  fresh->value = *given;
  free(given);
  pthread_mutex_lock(&m);
  fresh->next = head;
  head = fresh;
  pthread_mutex_unlock(&m);
  int *result = malloc(sizeof(int));
  *result = 1;
  return result;
}

int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) {
    int *argument = malloc(sizeof(int));
    *argument = i;
    pthread_create(&t[i], 0, work, argument);
  }
  for (int i = 0; i < 2; i++) {
    void *result;
    pthread_join(t[i], &result);
    free(result);
  }
  return 0;
}
// finds: explore
