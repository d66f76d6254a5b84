// truth: safe
// check: unreach-call
// A device with a table of operations, each under the device's mutex.
#include <pthread.h>
#include <assert.h>
struct dev;
struct ops {
  int (*open)(struct dev *);
  int (*close)(struct dev *);
};
struct dev {
  int users;
  const struct ops *ops;
  pthread_mutex_t lock;
};
static int my_open(struct dev *d) {
  pthread_mutex_lock(&d->lock);
  d->users++;
  int u = d->users;
  pthread_mutex_unlock(&d->lock);
  return u;
}

static int my_close(struct dev *d) {
  pthread_mutex_lock(&d->lock);
  d->users--;
  int u = d->users;
  pthread_mutex_unlock(&d->lock);
  return u;
}

static const struct ops my_ops = { .open = my_open, .close = my_close };
static struct dev d = { .ops = &my_ops, .lock = PTHREAD_MUTEX_INITIALIZER };
void *user(void *a) {
  struct dev *p = a;
  int u = p->ops->open(p);
  assert(u >= 1 && u <= 2);
  p->ops->close(p);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, user, &d);
  pthread_create(&b, 0, user, &d);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(d.users == 0);
  return 0;
}
// finds: explore horn
