// truth: unsafe
// why: without the mutex the second node can overwrite the first, which nothing points to then.
// check: valid-memtrack
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
  fresh->next = head;
  head = fresh;
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
