/**
 * A whole queue that was read once, for the many claims of one client that wait in it.
 *
 * A claim that reads its own predecessors costs as much as the queue is long. Thousands of waiters
 * of one client would read a queue of thousands each second.
 */
import { invariant } from '../../../invariant.js'
import type { Claim } from '../../../store/contract.js'
import type { Predecessor, QueuePosition } from '../connection/service.js'
import { positionOf, wantsAll } from './queue-rule.js'

export interface QueueMember extends Predecessor {
  /** Whether it excludes all others: a mutex or a writer, also one that was downgraded since. */
  readonly isWriter: boolean
}

export class QueueView {
  /** The oldest first. */
  readonly members: readonly QueueMember[]
  /** The weight of all members before each member. */
  readonly #weightBefore: readonly number[]
  /** The number of the last writer before each member, or -1. */
  readonly #writerBefore: readonly number[]
  readonly #numbers = new Map<string, number>()

  constructor(members: readonly QueueMember[]) {
    this.members = members
    const weightBefore: number[] = []
    const writerBefore: number[] = []
    let weight = 0
    let writer = -1
    for (const [number, member] of members.entries()) {
      this.#numbers.set(member.key, number)
      weightBefore.push(weight)
      writerBefore.push(writer)
      weight += member.weight
      if (member.isWriter) writer = number
    }
    invariant(this.#numbers.size === members.length, 'an entry stands in a queue once')
    this.#weightBefore = weightBefore
    this.#writerBefore = writerBefore
  }

  has(key: string): boolean {
    return this.#numbers.has(key)
  }

  /** What stands before the entry of a claim. Undefined when the entry is not in the queue. */
  before(
    key: string,
    claim: Pick<Claim, 'capacity' | 'weight' | 'kind'>,
  ): Omit<QueuePosition, 'moment'> | undefined {
    const number = this.#numbers.get(key)
    if (number === undefined) return undefined
    const weight = this.#weightBefore[number] ?? 0
    if (wantsAll(claim))
      return positionOf(claim, this.members.slice(Math.max(0, number - 1), number), weight)
    if (claim.kind === 'semaphore') {
      // Above the capacity only the last member matters.
      const first = weight > claim.capacity ? number - 1 : 0
      return positionOf(claim, this.members.slice(first, number), weight)
    }
    const writer = this.lastWriter(key)
    return positionOf(claim, writer ? [writer] : [])
  }

  /**
   * Returns the last writer before an entry, which alone decides for a reader. If that writer was
   * downgraded, it has held, and no other writer before it can still wait.
   */
  lastWriter(key: string): QueueMember | undefined {
    const number = this.#numbers.get(key)
    return number === undefined ? undefined : this.members[this.#writerBefore[number] ?? -1]
  }
}
