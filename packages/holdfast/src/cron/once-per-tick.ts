/** `oncePerTick` of `holdfast/cron`: wraps the work of a job for a library that schedules it. */
import { LockUsageError } from '../errors.js'
import type { Lease } from '../lease/hold/lease.js'
import { assertCanStayTaken } from '../locks/at-least.js'
import type { Locks } from '../locks/create.js'
import { checkOverlap, type TickOptions, type TickResult } from '../locks/once-per-tick.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkDuration, checkTtl } from '../options/lock-options.js'
import { noFunction } from '../options/no-function.js'
import { checkName } from '../store/names.js'
import { isCoordinated } from './coordinated-runs.js'
import { dueRunOf, type DueRun } from './due-run.js'

/** A run that did not take place here. */
export interface SkippedTick extends Omit<Extract<TickResult<never>, { ran: false }>, 'ran'> {
  readonly name: string
  readonly slot: Date
}

/** The options of `oncePerTick` of `holdfast/cron`. */
export interface CronTickOptions extends Omit<TickOptions, 'slot'> {
  /** The name of the lock. Default: the name of the job. */
  readonly name?: string | undefined
  /** Called for each run that does not take place here, with the reason and the holder. */
  readonly onSkip?: ((tick: SkippedTick) => void) | undefined
}

const TERM_KEYS: KnownKeys<Omit<TickOptions, 'slot'>> = { atLeastMs: 1, overlap: 1, ttlMs: 1 }
const CRON_KEYS: KnownKeys<CronTickOptions> = { ...TERM_KEYS, name: 1, onSkip: 1 }

/**
 * Returns a callback for croner, `cron`, node-schedule or node-cron that runs `work` once in each
 * slot, on one of all replicas. The callback rejects as `locks.oncePerTick` does, so the library
 * handles that as an error of the job. docs/integrations/cron.md has a program for each library.
 * @throws LockUsageError when an option makes no sense; UnsupportedLockError on ZooKeeper.
 */
export function oncePerTick(
  locks: Locks,
  work: (lease: Lease, slot: Date) => unknown,
  options: CronTickOptions,
): (this: unknown, ...args: unknown[]) => Promise<void> {
  checkTerms('oncePerTick', locks, options, CRON_KEYS)
  const { name: ownName, onSkip, ...terms } = options
  if (typeof work !== 'function') throw noFunction('oncePerTick', work, {})
  if (ownName !== undefined) checkName(ownName)
  if (onSkip !== undefined && typeof onSkip !== 'function')
    throw new LockUsageError(`onSkip must be a function, not ${describe(onSkip)}.`)

  return async function tick(...args) {
    const run = dueRunOf(this, args, Date.now())
    const name = ownName ?? nameOf(run)
    const slot = new Date(run.slotMs)
    if (isCoordinated(locks, name, slot)) throw twice(name)
    const result = await locks.oncePerTick(name, (lease) => work(lease, slot), { ...terms, slot })
    if (!result.ran) onSkip?.({ name, slot, reason: result.reason, holder: result.holder })
  }
}

/** Checks what a job is given when it is set up, and not in the night of its first run. */
export function checkTerms<T extends Omit<TickOptions, 'slot'>>(
  call: string,
  locks: Locks,
  options: T,
  known: KnownKeys<T>,
): void {
  if (typeof (locks as Partial<Locks> | undefined)?.oncePerTick !== 'function')
    throw new LockUsageError(
      `${call} of holdfast/cron takes the locks of createLocks first, not ${describe(locks)}.`,
    )
  checkKeys(call, options, known)
  checkDuration('atLeastMs', options.atLeastMs, { min: 1 })
  checkOverlap(options.overlap)
  if (options.ttlMs !== undefined) checkTtl(options.ttlMs, locks.store)
  assertCanStayTaken(locks.store)
}

function nameOf({ name, naming }: DueRun): string {
  if (name !== undefined && name !== '') return name
  throw new LockUsageError(
    `The job has no name by which its replicas find its lock. Give it one, as in ${naming}, or in oncePerTick(locks, work, { name: 'report', … }).`,
  )
}

function twice(name: string): LockUsageError {
  return new LockUsageError(
    `The run coordinator of node-cron covers this run of "${name}" already. Give the task its plain function, or leave distributed and runCoordinator out.`,
    { lock: name },
  )
}
