/**
 * The keys of this client's entries, which are used again and again.
 *
 * etcd remembers every key that ever was until it is compacted, and a read of a queue passes all
 * keys that stood there before. With a key for each claim a busy lock would get slower with each
 * hand-off. So a claim takes a key that an earlier one has left; two entries under one key differ
 * in the revision that made them.
 */
import { systemRandom } from '../../../clock/clock.js'
import type { Claim, ClaimRef } from '../../../store/contract.js'
import type { Keys } from '../keys.js'

interface EntryKey {
  readonly key: string
  readonly prefix: string
  readonly number: number
  readonly name: string
}

interface Pool {
  readonly free: number[]
  next: number
  used: number
}

export class EntryKeys {
  /** Begins all keys that may be used again. */
  #name = systemRandom.id()
  readonly #keys: Keys
  readonly #pools = new Map<string, Pool>()
  readonly #taken = new Map<string, EntryKey>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /** The key of a claim's entry: the same one until it is released. */
  take(claim: Claim): string {
    const known = this.#taken.get(idOf(claim))
    if (known) return known.key
    const prefix = this.#keys.entryPrefix(claim)
    const pool = this.#pools.get(prefix) ?? { free: [], next: 0, used: 0 }
    this.#pools.set(prefix, pool)
    const number = pool.free.pop() ?? pool.next++
    pool.used += 1
    const entryKey = { key: `${prefix}${this.#name}-${number}`, prefix, number, name: this.#name }
    this.#taken.set(idOf(claim), entryKey)
    return entryKey.key
  }

  /**
   * Returns another key for a claim, and gives the first one to no other claim: an entry stands
   * there that this client has exported.
   */
  exchange(claim: Claim): string {
    const entryKey = this.#taken.get(idOf(claim))
    this.#taken.delete(idOf(claim))
    const pool = entryKey && this.#pools.get(entryKey.prefix)
    if (pool && entryKey.name === this.#name) pool.used -= 1
    return this.take(claim)
  }

  /** How many entries of this client have, or are about to have, keys in the queue of a claim. */
  used(claim: Claim): number {
    return this.#pools.get(this.#keys.entryPrefix(claim))?.used ?? 0
  }

  /** The entry of this claim is gone for certain, or was never made. */
  release(claim: Pick<ClaimRef, 'lock' | 'id'>): void {
    const entryKey = this.#taken.get(idOf(claim))
    if (!entryKey) return
    this.#taken.delete(idOf(claim))
    const pool = this.#pools.get(entryKey.prefix)
    if (!pool || entryKey.name !== this.#name) return
    pool.free.push(entryKey.number)
    pool.used -= 1
    if (pool.used === 0) this.#pools.delete(entryKey.prefix)
  }

  /**
   * A request is in flight that may use one of these keys at any later moment: none of them is
   * given to another claim.
   */
  abandon(): void {
    this.#name = systemRandom.id()
    this.#pools.clear()
  }
}

function idOf({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): string {
  return `${id}\n${lock}`
}
