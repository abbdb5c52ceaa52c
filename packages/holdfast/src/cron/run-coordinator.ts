/** A run coordinator for node-cron 4.6 or later: it asks before each run of a distributed task. */
import { LockUsageError } from '../errors.js'
import type { Locks } from '../locks/create.js'
import type { TickOptions } from '../locks/once-per-tick.js'
import { describe } from '../options/describe.js'
import type { KnownKeys } from '../options/known-keys.js'
import { markCoordinated } from './coordinated-runs.js'
import { checkTerms } from './once-per-tick.js'

/** The options of `runCoordinator`. `ttlMs` is the `distributedLease` of the task by default. */
export interface CoordinatorOptions extends Omit<TickOptions, 'slot'> {}

/** What node-cron asks: see its option `runCoordinator`. */
export interface RunCoordinator {
  /**
   * Resolves to whether this process runs the task now.
   * @param key the name of the task and the slot
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean>
  /** Ends the lease of the run. Its slot stays taken. */
  onComplete(key: string): Promise<void>
}

const COORDINATOR_KEYS: KnownKeys<CoordinatorOptions> = { atLeastMs: 1, overlap: 1, ttlMs: 1 }

/** The name of a task, a colon, and its slot in ISO format. */
const KEY = /^(.+):([+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s

/** A run that this process does. */
interface Run {
  end(): void
  ended(): Promise<unknown>
}

/**
 * Returns a coordinator with which node-cron runs each slot of a distributed task on one of all
 * replicas. The task needs `distributed: true` and a name: without `distributed` node-cron does not
 * ask a coordinator.
 * @throws LockUsageError when an option makes no sense; UnsupportedLockError on ZooKeeper.
 */
export function runCoordinator(locks: Locks, options: CoordinatorOptions): RunCoordinator {
  checkTerms('runCoordinator', locks, options, COORDINATOR_KEYS)
  const runs = new Map<string, Run>()

  /** Resolves when the run begins, or is known not to. */
  function begin(key: string, terms: TickOptions): Promise<boolean> {
    const { name, slot } = partsOf(key)
    return new Promise((resolve, reject) => {
      const work = async (): Promise<void> => {
        const unmark = markCoordinated(locks, name, slot)
        await new Promise<void>((end) => {
          runs.set(key, { end, ended: () => ended })
          resolve(true)
        })
        unmark()
      }
      const ended = locks.oncePerTick(name, work, { ...terms, slot })
      ended.then(({ ran }) => resolve(ran), reject)
    })
  }

  return {
    shouldRun: async (key, ttlMs) => begin(key, { ...options, ttlMs: options.ttlMs ?? ttlMs }),
    async onComplete(key) {
      const run = runs.get(key)
      runs.delete(key)
      run?.end()
      await run?.ended()
    },
  }
}

function partsOf(key: unknown): { readonly name: string; readonly slot: Date } {
  const [, name, time] = (typeof key === 'string' && KEY.exec(key)) || []
  if (name !== undefined && time !== undefined) return { name, slot: new Date(time) }
  throw new LockUsageError(
    `shouldRun takes a key of node-cron 4.6 or later, such as "report:2027-01-31T03:00:00.000Z", not ${describe(key)}.`,
  )
}
