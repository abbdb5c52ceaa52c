/**
 * Contention: an actor that takes a lock and gives it back again and again, and writes down what it
 * believed.
 */
import type { Clock, Random } from '../clock/clock.js'
import { isLockError } from '../errors.js'
import type { Lease } from '../lease/lease.js'
import type { Lockable } from '../locks/lock.js'
import { outcomeOf } from './expect.js'
import type { HistoryNote, Recorder } from './history/index.js'

export interface ContentionOptions {
  readonly lock: Lockable
  readonly weight: number
  readonly capacity: number
  readonly recorder: Recorder
  readonly clock: Clock
  readonly random: Random
  /** The longest time to hold the lock, in milliseconds. */
  readonly workMs: number
  /** Asked before each round. */
  goesOn(): boolean
  /** Ends a wait. */
  readonly signal?: AbortSignal
}

/** Runs until it is told to stop. Resolves to how often the lock was held. */
export async function contend(options: ContentionOptions): Promise<number> {
  const { lock, recorder, signal } = options
  let holds = 0
  while (options.goesOn()) {
    note(options, { f: 'acquire', type: 'invoke' })
    let lease: Lease
    try {
      lease = await lock.acquire(signal ? { signal } : {})
    } catch (error) {
      note(options, { f: 'acquire', type: 'fail' })
      if (signal?.aborted === true) break
      // Where messages get lost some attempts fail, and the lock must hold all the same.
      if (isLockError(error) && error.code === 'STORE_UNAVAILABLE') continue
      throw error
    }
    holds += 1
    const deadline_ns = recorder.deadlineNs(() => lease.remainingMs)
    const { token } = lease
    note(options, {
      f: 'acquire',
      type: 'ok',
      deadline_ns,
      ...(token === undefined ? {} : { token }),
    })
    await work(options)
    await giveBack(options, lease)
  }
  return holds
}

async function work({ clock, random, workMs }: ContentionOptions): Promise<void> {
  const ms = random.next() * workMs
  // Often no work at all: hand-offs in one turn of the event loop are where order goes wrong.
  if (ms < workMs / 3) return
  await new Promise<void>((resolve) => void clock.timer(ms, resolve))
}

async function giveBack(options: ContentionOptions, lease: Lease): Promise<void> {
  const deadline_ns = options.recorder.deadlineNs(() => lease.remainingMs)
  if (lease.held) note(options, { f: 'renew', type: 'ok', deadline_ns })
  else note(options, { f: 'lost', type: 'info' })
  note(options, { f: 'release', type: 'invoke' })
  const outcome = await outcomeOf(() => lease.release())
  const known = 'value' in outcome ? outcome.value : undefined
  note(options, {
    f: 'release',
    type: known === undefined ? 'info' : known === 'released' ? 'ok' : 'fail',
  })
}

function note(options: ContentionOptions, what: Omit<HistoryNote, 'key'>): void {
  const { recorder, lock, weight, capacity } = options
  const mode = weight === capacity ? 'exclusive' : 'shared'
  recorder.note({ key: lock.name, mode, weight, capacity, ...what })
}
