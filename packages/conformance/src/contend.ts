/** Contention: an actor that acquires and releases a lock repeatedly, and records a history. */
import { type Clock, isLockError, type Lease, type Lockable, type Random } from 'holdfast'
import { outcomeOf } from './expect.js'
import type { HistoryNote, Recorder } from './history/index.js'

/** The lock and the client of one actor that contends for it. */
export interface ContentionOptions {
  readonly lock: Lockable
  readonly weight: number
  readonly capacity: number
  readonly recorder: Recorder
  readonly clock: Clock
  readonly random: Random
  /** The longest time to hold the lock, in milliseconds. */
  readonly workMs: number
  /** Called before each round. */
  goesOn(): boolean
  /** Ends a wait. */
  readonly signal?: AbortSignal | undefined
}

/** Contends while `goesOn()` is true. Resolves to how often the actor held the lock. */
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
      // Lost messages fail some attempts. The lock must exclude nevertheless.
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
      token,
    })
    await work(options)
    await release(options, lease)
  }
  return holds
}

async function work({ clock, random, workMs }: ContentionOptions): Promise<void> {
  const ms = random.next() * workMs
  // A third of the rounds has no work: hand-offs in one tick are where order can break.
  if (ms < workMs / 3) return
  await new Promise<void>((resolve) => void clock.timer(ms, resolve))
}

async function release(options: ContentionOptions, lease: Lease): Promise<void> {
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
