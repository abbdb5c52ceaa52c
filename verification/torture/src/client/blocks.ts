/**
 * Blocks the event loop beside the thread that renews. In the first moment afterwards it judges
 * what is held: nothing beyond the limit, and everything below it.
 */
import { BroadcastChannel } from 'node:worker_threads'
import type { LocksOptions } from 'holdfast'
import type { Belief } from '@holdfast/workload'
import type { Assignment, BlockTerms, ToClient } from '../protocol.js'
import type { Library } from './library.js'
import { nowNs, type Log } from './log.js'
import type { Site } from './site.js'
import { CHANNEL, send, type Stalled, type ThreadTerms, type ToThread } from './thread-store.js'

/**
 * A thread that stood still for this share of the TTL is not held to keep a lease. Of a lease that
 * was about to be renewed a quarter of the TTL is left when the thread renews it.
 */
const STALLED_SHARE = 1 / 8
/** A block so close below the limit may meet it: the last beat was before. */
const BEAT_SHARE = 1 / 4
const HOLDING_MS = 500

type BlockOrder = Extract<ToClient, { ask: 'block' }>

/** Returns the options of a client whose leases a thread renews as well. */
export function helpedBy({ blocks, ...rest }: Assignment): LocksOptions {
  if (!blocks) return {}
  const { store, connection, copy, index } = rest
  const terms: ThreadTerms = { store, connection, index, ...(copy === undefined ? {} : { copy }) }
  const workerStore = new URL('./thread-store.js', import.meta.url)
  workerStore.searchParams.set('terms', JSON.stringify(terms))
  const { blockedAtMostMs } = blocks
  return { renewFrom: 'worker', blockedAtMostMs, workerStore }
}

export function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

interface Lost {
  readonly belief: Belief
  readonly message: string
}

export class Blocks {
  readonly #site: Site
  readonly #log: Log
  readonly #terms: BlockTerms
  readonly #channel = new BroadcastChannel(CHANNEL)
  /** Leases that did not outlast a block, by its start: until the thread has said what it did. */
  readonly #lost = new Map<bigint, readonly Lost[]>()
  readonly #ttlMs: number

  constructor(site: Site, log: Log, library: Library, terms: BlockTerms & { ttlMs: number }) {
    this.#site = site
    this.#log = log
    this.#terms = terms
    this.#ttlMs = terms.ttlMs
    this.#channel.unref()
    this.#channel.addEventListener('message', (event) =>
      this.#hear((event as MessageEvent).data as Stalled | ToThread),
    )
    library.onLockEvent('helper-lost', ({ error }) =>
      site.fault(`The thread that renews has ended: ${String(error)}`),
    )
  }

  /** Blocks once an actor is at work under a lease, or after a while. Resolves afterwards. */
  async block(order: BlockOrder): Promise<void> {
    await new Promise<void>((resolve) => {
      const block = (): void => {
        clearTimeout(late)
        this.#site.whenHolding(undefined)
        this.#block(order)
        resolve()
      }
      const late = setTimeout(block, HOLDING_MS)
      this.#site.whenHolding(block)
    })
  }

  #block({ forMs, byMs }: BlockOrder): void {
    const before = this.#site.beliefs().map(({ belief, isRenewed }) => {
      const { held, remainingMs } = belief.lease
      return { belief, remainingMs, isRenewed: isRenewed && belief.isExclusive && held }
    })
    if (byMs < 0) this.#tell({ ask: 'stop', afterMs: -byMs, forMs })
    const startNs = nowNs()
    blockFor(forMs)
    const blockedMs = Number(nowNs() - startNs) / 1e6
    const lost: Lost[] = []
    for (const { belief, remainingMs, isRenewed } of before) {
      const { held } = belief.lease
      if (held) {
        this.#judgeHeld(belief, blockedMs, remainingMs)
        belief.isHeld()
      } else if (isRenewed && byMs === 0 && this.#keeps(blockedMs) && !isStolen(belief))
        lost.push({ belief, message: `a block of ${blockedMs.toFixed(0)} ms` })
    }
    this.#log.block({ start_ns: String(startNs), end_ns: String(nowNs()) })
    if (lost.length === 0) return
    this.#lost.set(startNs, lost)
    this.#tell({ ask: 'stalled', sinceNs: startNs })
  }

  /** Beyond the limit a lease lasts to the deadline that it had before the block. */
  #judgeHeld({ key, actor }: Belief, blockedMs: number, remainingMs: number): void {
    if (blockedMs <= Math.max(this.#terms.blockedAtMostMs, remainingMs)) return
    const message = `"${key}" is held by ${actor} after a block of ${blockedMs.toFixed(0)} ms.`
    this.#log.breach({ property: 'held', key, message })
  }

  #keeps(blockedMs: number): boolean {
    const { keeps, blockedAtMostMs } = this.#terms
    return keeps && blockedMs < blockedAtMostMs - BEAT_SHARE * this.#ttlMs
  }

  #hear(message: Stalled | ToThread): void {
    if (!('said' in message)) return
    const { sinceNs, ms } = message
    const lost = this.#lost.get(sinceNs) ?? []
    this.#lost.delete(sinceNs)
    if (ms > STALLED_SHARE * this.#ttlMs) return
    for (const { belief, message } of lost) {
      const { key, actor } = belief
      this.#log.breach({ property: 'kept', key, message: `${actor} lost "${key}" in ${message}.` })
    }
  }

  #tell(order: ToThread): void {
    send(this.#channel, order)
  }

  end(): void {
    this.#channel.close()
  }
}

function isStolen({ lease }: Belief): boolean {
  const { reason } = lease.signal as { reason?: { reason?: string } }
  return reason?.reason === 'stolen'
}
