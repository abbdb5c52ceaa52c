/**
 * The signs of life of one connection, and which of them the leader must have heard of.
 *
 * A quorum that agrees to a request keeps no session alive. The leader counts the timeout of a
 * session from the last sign that reached the leader itself. A follower takes note of each message
 * of a client. It hands these notes over when the leader pings it, each half tick. The notes travel
 * on the connection that also carries the requests of its clients, in their order. (See
 * `LearnerHandler`, `Learner.ping` and `LearnerSessionTracker` of ZooKeeper 3.5 to 3.9.) So a
 * request that a quorum agreed to is a proof. The leader has heard of each sign that was answered
 * at least half a tick before the request left. The moment of the answer counts, since a sign may
 * linger on its way to the follower. A follower that takes a client on asks the leader first, so
 * the greeting of a connection is proven at once.
 */
import type { Moment } from '../../coordination/connection/moment.js'

/** How much later than each half tick the leader may ping a follower, in milliseconds. */
const MARGIN_MS = 500
/** Signs that were answered within this share of the time until they are ripe count as one. */
const GAP = 1 / 16

interface AnsweredSign {
  readonly sent: Moment
  readonly answeredMs: number
}

export class LifeSigns {
  readonly #ripeMs: number
  /** The oldest first. The first one is ripe, the others were answered later. */
  readonly #signs: AnsweredSign[]

  /** @param greeted when the greeting of the connection left */
  constructor(greeted: Moment, tickMs: number) {
    this.#ripeMs = ripeMs(tickMs)
    this.#signs = [{ sent: greeted, answeredMs: -Infinity }]
  }

  /** Notes that a message which left at `sent` was answered. */
  note(sent: Moment, answeredMs: number): void {
    const last = this.#signs.at(-1)
    if (last && answeredMs - last.answeredMs < this.#ripeMs * GAP) return
    this.ripe(answeredMs)
    this.#signs.push({ sent, answeredMs })
  }

  /** Returns the newest sign that a request which leaves now proves, once a quorum agrees to it. */
  ripe(nowMs: number): Moment {
    const signs = this.#signs
    const unripe = signs.findIndex(
      ({ answeredMs }, index) => index > 0 && answeredMs + this.#ripeMs > nowMs,
    )
    signs.splice(0, (unripe < 0 ? signs.length : unripe) - 1)
    return (signs[0] as AnsweredSign).sent
  }
}

/** Returns how long after its answer a request proves a sign of life. */
export function ripeMs(tickMs: number): number {
  return tickMs / 2 + MARGIN_MS
}
