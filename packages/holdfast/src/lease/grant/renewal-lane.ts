/**
 * A list of grants that are due the same time after their bases, sorted by base. The grant that is
 * due next is the first one. A grant joins or leaves in constant time.
 */
import type { Place } from '../../collections/linked-set.js'
import { invariant } from '../../invariant.js'

/**
 * What the renewal scheduler notes about a grant. Only the scheduler and its lanes use these
 * fields. They are part of the grant because an object of their own would double its garbage.
 */
export interface LaneMember<Self extends LaneMember<Self>> {
  /** The monotonic time from which the TTL counts. */
  readonly baseMs: number
  lane: RenewalLane<Self> | undefined
  previous: Self | undefined
  next: Self | undefined
  /** Its place among the grants whose renewal is in flight or in doubt. */
  unanswered: Place<Self> | undefined
  /** When to repeat an unanswered renewal. */
  retryAtMs: number | undefined
  /** When its last renewal left. */
  sentMs: number | undefined
  /** How many renewals were sent and not acknowledged. They may still reach the store. */
  openRenewals: number
  /** Whether `at-risk` was announced, and no renewal has got through since. */
  isAtRisk: boolean
}

export class RenewalLane<M extends LaneMember<M>> {
  /** How long after its base a member is due. */
  readonly leadMs: number
  #first: M | undefined
  #last: M | undefined

  constructor(leadMs: number) {
    this.leadMs = leadMs
  }

  get first(): M | undefined {
    return this.#first
  }

  /** Inserts a member. Nearly every member belongs at the end. */
  insert(member: M): void {
    invariant(member.lane === undefined, 'a grant is in one renewal lane at most')
    let before = this.#last
    while (before && before.baseMs > member.baseMs) before = before.previous
    const after = before ? before.next : this.#first
    invariant(!after || after.baseMs >= member.baseMs, 'a renewal lane is sorted by base')
    member.lane = this
    member.previous = before
    member.next = after
    if (before) before.next = member
    else this.#first = member
    if (after) after.previous = member
    else this.#last = member
  }

  remove(member: M): void {
    invariant(member.lane === this, 'a grant leaves the renewal lane that it is in')
    if (member.previous) member.previous.next = member.next
    else this.#first = member.next
    if (member.next) member.next.previous = member.previous
    else this.#last = member.previous
    member.lane = member.previous = member.next = undefined
  }
}
