/*
 * Sets the wall clock of one process apart: every reading of it is moved by an offset that stands in a shared file.
 * The monotonic clock goes on as it is, as when somebody sets the clock of a machine. A wait until a time of the wall
 * clock ends when that clock says so, unless it is set meanwhile.
 *
 * Loaded by LD_PRELOAD, with HOLDFAST_CLOCK as the path of a file of eight bytes: the offset in nanoseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ns;

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("HOLDFAST_CLOCK");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) offset_ns = page;
}

static int64_t moved(clockid_t clock) {
  if (!offset_ns || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return 0;
  return *offset_ns;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  int64_t by = result == 0 ? moved(clock) : 0;
  if (by == 0) return result;
  int64_t all = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + by;
  time->tv_sec = all / 1000000000;
  time->tv_nsec = all % 1000000000;
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

typedef int (*timed_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

/** Later than any time of the monotonic clock, by which a condition may count as well. */
#define WALL_S 1000000000

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  static timed_wait next;
  // Without a version, the linker finds an older condition of another size.
  if (!next) next = (timed_wait)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!next) next = (timed_wait)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  int64_t by = until->tv_sec > WALL_S ? moved(CLOCK_REALTIME) : 0;
  if (by == 0) return next(condition, mutex, until);
  int64_t all = (int64_t)until->tv_sec * 1000000000 + until->tv_nsec - by;
  struct timespec real = {.tv_sec = all / 1000000000, .tv_nsec = all % 1000000000};
  return next(condition, mutex, &real);
}
