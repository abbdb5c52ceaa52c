/** Looks again and again until something is so. The time is a bound, not a wait. */
import { setTimeout as sleep } from 'node:timers/promises'

/** What throws counts as not yet so; the last error is the cause of the one that is thrown when the time is over. */
export async function eventually(
  what: string,
  isSo: () => unknown,
  { withinMs = 20_000, everyMs = 20 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<void> {
  const giveUpMs = performance.now() + withinMs
  for (;;) {
    let cause: unknown
    try {
      if (await isSo()) return
    } catch (error) {
      cause = error
    }
    if (performance.now() > giveUpMs) throw new Error(`${what}: not within ${withinMs} ms`, { cause })
    await sleep(everyMs)
  }
}
