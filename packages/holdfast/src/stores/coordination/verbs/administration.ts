/**
 * Inspect, steal and downgrade: verbs that see a whole queue, or change an entry where it stands.
 */
import type {
  ClaimRef,
  HolderInfo,
  LockInfo,
  StealOptions,
  StealResult,
  WaiterInfo,
} from '../../../store/contract.js'
import { StoreUnavailableError } from '../../../errors.js'
import type { StoreContext } from '../queue/context.js'
import { firstTokenOf, type EntryData } from '../wire.js'
import type { Entry, ListedEntry, ListedQueue, ServiceSession } from '../connection/service.js'

/** How often a change is tried again when the entry changes under it. */
const TRIES = 10

export class Administration<S extends ServiceSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  async inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    const queues = await this.#context.service.readQueues(locks, waitersUpTo)
    return queues.flatMap((queue) => this.#describe(queue, waitersUpTo) ?? [])
  }

  async steal(lock: string, options: StealOptions): Promise<StealResult> {
    const { claim } = options
    if (claim !== undefined) return this.#stealClaim(lock, claim, options)
    const [queue] = await this.#context.service.readQueues([lock], [])
    const { holders } = split(queue)
    const freed = await Promise.all(holders.map((holder) => this.#stealOne(holder, options)))
    const freeInMs = freed.map((leftMs) => leftMs ?? 0)
    return {
      holders: freed.filter((leftMs) => leftMs !== undefined).length,
      freeInMs: Math.max(0, ...freeInMs),
    }
  }

  async #stealClaim(lock: string, claim: string, options: StealOptions): Promise<StealResult> {
    const { service } = this.#context
    const [queue] = await service.readQueues([lock], [claim])
    const { holders, waiters } = split(queue)
    const isIt = ({ entry }: ListedEntry): boolean => entry.id === claim
    const [holder, waiter] = [holders.find(isIt), waiters.find(isIt)]
    if (waiter) {
      const isEvicted = await service.evict(waiter, options.reason, true)
      return { holders: 0, waiters: isEvicted ? 1 : 0, freeInMs: 0 }
    }
    const leftMs = holder && (await this.#stealOne(holder, options))
    return { holders: leftMs === undefined ? 0 : 1, waiters: 0, freeInMs: leftMs ?? 0 }
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    const record = this.#context.records.get(claim)
    if (!record) return this.#downgradeDetached(claim)
    const { queueEntry } = record
    if (record.withdrawn || !queueEntry?.grant || queueEntry.claim.kind === 'semaphore')
      return false
    const changed = await this.#change(queueEntry.entry, asReader)
    if (changed) queueEntry.wrote(changed.version, changed.data)
    return changed !== undefined
  }

  /** Downgrades an entry that no client holds, such as that of a lease that is kept. */
  async #downgradeDetached({ lock, id }: ClaimRef): Promise<boolean> {
    const [queue] = await this.#context.service.readQueues([lock], [])
    const holder = split(queue).holders.find(
      ({ entry, data }) => entry.id === id && data.detached === true && data.kind !== 'semaphore',
    )
    return holder !== undefined && (await this.#change(holder.entry, asReader)) !== undefined
  }

  /** How long it may still be held, or undefined when it was gone already. */
  async #stealOne(
    holder: ListedEntry,
    { claim, now, reason }: StealOptions,
  ): Promise<number | undefined> {
    const { service } = this.#context
    const isOnly = claim !== undefined
    if (now) return (await service.evict(holder, reason, isOnly)) ? 0 : undefined
    const { inDoubt } = service
    let found: ListedEntry | undefined = holder
    for (let tries = 0; tries < TRIES; tries += 1) {
      // Where an answer was lost, the holder may have left since it was stolen.
      if (!found) return service.inDoubt === inDoubt ? undefined : 0
      const { entry, version }: ListedEntry = found
      const data = {
        ...found.data,
        stolen: true,
        ...(reason === undefined ? {} : { stealReason: reason }),
      }
      if ((await service.amend(entry, data, version)) !== undefined) return leftMs(found)
      // It may be another claim's by now, which has adopted it.
      const [queue] = await service.readQueues([entry.lock], [])
      found = queue?.entries.find((one) => one.entry.number === entry.number)
      if (isOnly && found?.entry.id !== claim) found = undefined
    }
    throw this.#changedTooOften(holder.entry)
  }

  /** Changes the data of the entry of a claim. Undefined when the claim has none any more. */
  async #change(
    entry: Entry,
    change: (data: EntryData) => EntryData,
  ): Promise<{ readonly data: EntryData; readonly version: bigint } | undefined> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const reading = await this.#context.reader.read({ entry, claim: undefined })
      if (reading.state === 'absent') return undefined
      const data = change(reading.data)
      const version = await this.#context.service.amend(entry, data, reading.version)
      if (version !== undefined) return { data, version }
    }
    throw this.#changedTooOften(entry)
  }

  #changedTooOften({ lock }: Entry): StoreUnavailableError {
    return new StoreUnavailableError(
      `The entry of "${lock}" in ${this.#context.name} changed ${TRIES} times while it was being changed. Try again.`,
      { lock, store: this.#context.name },
    )
  }

  #describe(queue: ListedQueue, waitersUpTo?: readonly string[]): LockInfo | undefined {
    const [first] = queue.entries
    if (!first) return undefined
    const { holders, waiters } = split(queue)
    const wallMs = this.#context.clock.wallMs()
    const kinds = queue.entries.map(({ data }) => data.kind)
    const last = queue.entries.at(-1) ?? first
    return {
      lock: queue.lock,
      // The lock is shown as a readers-writer lock as soon as one claim uses it so.
      kind: kinds.includes('readWriteLock') ? 'readWriteLock' : first.data.kind,
      capacity: first.data.capacity,
      holders: holders.map((listed) => asHolder(listed, wallMs)),
      waiters: waiters
        .slice(0, shownOf(waiters, waitersUpTo))
        .map((listed) => asWaiter(listed, wallMs)),
      lastToken: lastTokenOf(holders.at(-1) ?? last),
    }
  }
}

function asReader(data: EntryData): EntryData {
  return { ...data, kind: 'readWriteLock', weight: 1 }
}

/** How many waiters are shown. */
function shownOf(waiters: readonly ListedEntry[], upTo: readonly string[] | undefined): number {
  if (upTo === undefined) return waiters.length
  const ids = new Set(upTo)
  return waiters.findLastIndex(({ entry }) => ids.has(entry.id)) + 1
}

/** Splits a queue: the holders are its beginning. */
export function split(queue: ListedQueue | undefined): {
  holders: ListedEntry[]
  waiters: ListedEntry[]
} {
  const entries = queue?.entries ?? []
  let weight = 0
  const firstWaiting = entries.findIndex(({ data }) => (weight += data.weight) > data.capacity)
  const count = firstWaiting < 0 ? entries.length : firstWaiting
  return { holders: entries.slice(0, count), waiters: entries.slice(count) }
}

function leftMs({ data, sessionLeftMs }: ListedEntry): number {
  return Math.min(data.ttlMs, sessionLeftMs ?? Infinity)
}

function lastTokenOf({ entry, data }: ListedEntry): bigint {
  return firstTokenOf(entry.number, data) + BigInt((data.tokens ?? 1) - 1)
}

function asHolder(listed: ListedEntry, wallMs: number): HolderInfo {
  const { entry, data } = listed
  return {
    claimId: entry.id,
    owner: data.owner,
    weight: data.weight,
    token: data.tokens === undefined ? firstTokenOf(entry.number, data) : undefined,
    heldMs: Math.max(0, wallMs - (data.grantedMs ?? data.sinceMs)),
    remainingMs: leftMs(listed),
    ttlMs: data.ttlMs,
    stolen: data.stolen === true,
    ...(data.stealReason === undefined ? {} : { stealReason: data.stealReason }),
  }
}

function asWaiter({ entry, data }: ListedEntry, wallMs: number): WaiterInfo {
  return {
    claimId: entry.id,
    owner: data.owner,
    weight: data.weight,
    waitedMs: Math.max(0, wallMs - data.sinceMs),
  }
}
