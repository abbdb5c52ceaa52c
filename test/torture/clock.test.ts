/** The clock of a server that a fault sets. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServerClock } from '@holdfast/stores/faults/clock'
import { afterEach, expect, test } from 'vitest'

/** Waits 200 ms of the wall clock for a condition, and prints both clocks' milliseconds. */
const WAITER = `
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static long ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  long since = ms(CLOCK_MONOTONIC), until = ms(CLOCK_REALTIME) + 200;
  struct timespec end = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
  pthread_mutex_lock(&mutex);
  while (pthread_cond_timedwait(&condition, &mutex, &end) == 0) {}
  printf("%ld %ld\\n", ms(CLOCK_REALTIME), ms(CLOCK_MONOTONIC) - since);
}`
const HOUR_MS = 3_600_000

const folder = mkdtempSync(join(tmpdir(), 'holdfast-waiter-'))
afterEach(() => rmSync(folder, { recursive: true }))

test('a clock that was set forward ends waits at its own time', () => {
  const [source, waiter] = ['waiter.c', 'waiter'].map((name) => join(folder, name)) as [
    string,
    string,
  ]
  writeFileSync(source, WAITER)
  execFileSync('gcc', ['-o', waiter, source, '-lpthread'])
  const clock = new ServerClock()
  try {
    clock.step(HOUR_MS)
    const env = { ...process.env, ...clock.env }
    const printed = execFileSync(waiter, { env, encoding: 'utf8', timeout: 20_000 })
    const [wallMs = 0, waitedMs = 0] = printed.split(' ').map(Number)
    expect(wallMs).toBeGreaterThan(Date.now() + HOUR_MS / 2)
    expect(waitedMs).toBeGreaterThanOrEqual(199)
  } finally {
    clock.remove()
  }
})
