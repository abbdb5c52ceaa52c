/** Bounded waits for conditions: no test sleeps and hopes. */
import { setTimeout as sleep } from 'node:timers/promises'

export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  ms = 10_000,
): Promise<void> {
  const endsAt = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > endsAt) {
      throw new Error(`Waited ${ms} ms in vain until ${typeof what === 'string' ? what : what()}.`)
    }
    await sleep(10)
  }
}
