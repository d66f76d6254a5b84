// truth: safe
// why: both callbacks hold the mutex of the data around their device.
// check: unreach-call
// source: own

#include <pthread.h>
#include <stdlib.h>
void reach_error() {}
void ldv_assert(int e) { if (!e) { ERROR: { reach_error(); abort(); } } }
struct device { int dummy; void *driver_data; };
struct my_data { pthread_mutex_t lock; struct device dev; int a; int b; };
#define offsetof(T, m) __builtin_offsetof(T, m)
#define container_of(ptr, type, member) ({ const typeof(((type *)0)->member) *__mptr = (ptr); (type *)((char *)__mptr - (unsigned long)(&((type *)0)->member)); })
static inline void *dev_get_drvdata(struct device *d) { return d->driver_data; }
pthread_t t1, t2;
void *my_callback(void *arg) {
  struct device *dev = (struct device *)arg;
  struct my_data *data;
  data = container_of(dev, struct my_data, dev);
  pthread_mutex_lock(&data->lock);
  data->a = 1;
  data->b = data->b + 1;
  pthread_mutex_unlock(&data->lock);
  return 0;
}
int my_drv_probe(struct my_data *data) {
  struct device *d = &data->dev;
  pthread_mutex_init(&data->lock, NULL);
  data->a = 0;
  data->b = 0;
  int res = __VERIFIER_nondet_int();
  if (res) goto exit;
  pthread_create(&t1, NULL, my_callback, (void *)d);
  pthread_create(&t2, NULL, my_callback, (void *)d);
  return 0;
exit:
  pthread_mutex_destroy(&data->lock);
  return -1;
}
void my_drv_disconnect(struct my_data *data) {
  void *status;
  pthread_join(t1, &status);
  pthread_join(t2, &status);
  pthread_mutex_destroy(&data->lock);
}
int my_drv_init(void) { return 0; }
void my_drv_cleanup(void) { return; }
int main(void) {
  int ret = my_drv_init();
  if (ret == 0) {
    int probe_ret;
    struct my_data data;
    probe_ret = my_drv_probe(&data);
    if (probe_ret == 0) {
      my_drv_disconnect(&data);
      ldv_assert(data.a == 1);
      ldv_assert(data.b == 2);
    }
    my_drv_cleanup();
    data.a = -1;
    data.b = -1;
    ldv_assert(data.a == -1);
    ldv_assert(data.b == -1);
  }
  return 0;
}
// finds: explore horn
