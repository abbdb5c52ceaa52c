/**
 * The locks that this client holds again and again, with no entry of another client in between.
 * Their queues need not be listed.
 *
 * ZooKeeper numbers the entries of a lock one after the other. An entry that held all of the lock
 * had nothing before it. Once it is gone, and a new entry has the number after it, nothing stands
 * before the new one either. Nor does a mark of a withdrawn claim, which would take a number too,
 * if there was none when the queue was listed last.
 *
 * An empty lock's node is reaped, and its numbers begin at 0 when it is made again. So the
 * transactions are counted as well: ZooKeeper says which one made an entry. One takes out the first
 * entry, one reaps the node, and one makes it again. Each number up to that of the first entry
 * takes another. With fewer between the two entries the node is the same.
 */
import { OldestKeys } from '../../../collections/oldest-keys.js'
import type { Entry } from '../../coordination/connection/service.js'
import { sequenceOf } from '../keys.js'

/** How many locks are remembered. */
const KEPT = 10_000
/** The transactions of a reaped node beside those that make entries, and the one after them. */
const REAPING = 5

type Made = Pick<Entry, 'key' | 'number'>

interface Turn extends Made {
  isGone: boolean
  /** Whether it came right after another turn: then the next one is likely to do so, too. */
  readonly isRepeated: boolean
}

export class OwnTurns {
  readonly #turns = new Map<string, Turn>()
  readonly #oldest = new OldestKeys(this.#turns)

  /** Whether the next entry is likely to follow the last one: a wrong guess costs a request. */
  isLikely(lock: string): boolean {
    return this.#turns.get(lock)?.isRepeated ?? false
  }

  /** Whether nothing can stand before an entry that was made just now. */
  isNext(lock: string, { key, number }: Made): boolean {
    const last = this.#turns.get(lock)
    if (last?.isGone !== true) return false
    const sequence = sequenceOf(last.key)
    if (!(sequence >= 0) || sequenceOf(key) !== sequence + 1) return false
    return number - last.number < BigInt(sequence + REAPING)
  }

  /** An entry holds all of the lock since it was made. */
  begin(lock: string, { key, number }: Made): void {
    const isRepeated = this.isNext(lock, { key, number })
    this.#turns.delete(lock)
    this.#turns.set(lock, { key, number, isGone: false, isRepeated })
    const oldest = this.#turns.size > KEPT ? this.#oldest.next() : undefined
    if (oldest !== undefined) this.#turns.delete(oldest)
  }

  /** This client has taken out an entry. */
  end({ lock, key }: Pick<Entry, 'lock' | 'key'>): void {
    const turn = this.#turns.get(lock)
    if (turn?.key === key) turn.isGone = true
  }
}
