/** Workers that take locks in turn without a pause, while something happens to the servers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, isLockError, type Locks } from 'holdfast'
import type { Store } from 'holdfast/store'
import { eventually } from '@holdfast/servers/eventually'

/** What a load came to. */
export interface Toll {
  /** Every token that was handed out, by lock. */
  readonly tokens: ReadonlyMap<string, readonly bigint[]>
  /** How many acquires ended with an error that says what happened. */
  failed: number
  /** How many leases were lost, and reported to their holders. */
  lost: number
  /** What was neither a lease nor a typed error. */
  readonly strange: unknown[]
}

export interface LoadOptions {
  readonly locks: readonly string[]
  /** How many work on each lock, in each store. */
  readonly workers: number
  readonly ttlMs: number
}

/**
 * Runs `happen` under load, then continues until every worker was served once more, and ends. Every
 * wait is bounded: a worker that is neither served nor rejected fails the test.
 */
export async function loadWhile(
  stores: readonly Store[],
  { locks: names, workers, ttlMs }: LoadOptions,
  happen: () => Promise<void>,
): Promise<Toll> {
  const tokens = new Map(names.map((name): [string, bigint[]] => [name, []]))
  const toll: Toll = { tokens, failed: 0, lost: 0, strange: [] }
  const clients = stores.map((store) => createLocks(store, { ttlMs }))
  const served: number[] = []
  let stopped = false

  async function work(locks: Locks, name: string, worker: number): Promise<void> {
    while (!stopped) {
      try {
        await locks.mutex(name).run(
          async (lease) => {
            tokens.get(name)?.push(lease.token)
            served[worker] = (served[worker] ?? 0) + 1
            await sleep(1)
          },
          { waitMs: 20_000 },
        )
      } catch (error) {
        if (!isLockError(error)) toll.strange.push(error)
        else if (error.code === 'LOCK_LOST') toll.lost += 1
        else toll.failed += 1
        // A store that is away refuses at once.
        await sleep(20)
      }
    }
  }

  const running = clients.flatMap((locks, client) =>
    names.flatMap((name, lock) =>
      Array.from({ length: workers }, (_, index) => {
        const worker = (client * names.length + lock) * workers + index
        served[worker] = 0
        return work(locks, name, worker)
      }),
    ),
  )
  const again = async (): Promise<void> => {
    const before = [...served]
    await eventually(
      'every worker is served',
      () => served.every((count, index) => count > (before[index] ?? 0)),
      { withinMs: 40_000 },
    )
  }
  await again()
  await happen()
  await again()
  stopped = true
  await Promise.all(running)
  await Promise.all(clients.map((locks) => locks.close()))
  return toll
}

/** Tokens that were given twice. */
export function repeated(tokens: readonly bigint[]): bigint[] {
  const seen = new Set<bigint>()
  return tokens.filter((token) => seen.size === seen.add(token).size)
}
