/**
 * Which token a claim gets, as plain functions over the tokens that the nodes voted with.
 *
 * A vote is `max(last token + 1, the node's clock in microseconds)`, or a token that the client
 * proposes if that is a little larger. The largest vote alone would be no token. Two readers whose
 * majorities overlap in one node may have the same largest vote. A node that has not heard of it
 * may vote lower later. So a majority gives the same token, or seals it; see `token-seal.ts`.
 */
import type { Clock } from '../../../clock/clock.js'

/**
 * A client proposes a token that is this far ahead of its clock. A node whose clock is further
 * ahead votes with its clock.
 */
const LEAD_MS = 250
/** Requests that leave in one tick shall propose one token, also when it begins a millisecond. */
const STEP_MS = 20

/** How far the first raise may go above the nodes' last tokens. Each further one doubles it. */
const RAISE_MICROS = 1000
const MOST_DOUBLINGS = 6

/**
 * Returns the token that a client proposes to all nodes with its attempts, as
 * `rule/apply-batch.lua` wants it in the place of a channel. Nodes whose clocks differ would vote
 * with different ones, and a majority would have to seal one of them by a second request. A vote
 * with the proposal counts as sealed.
 */
export function proposalOf(clock: Pick<Clock, 'wallMs'>): string {
  return `TOKEN ${(Math.floor(clock.wallMs() / STEP_MS) * STEP_MS + LEAD_MS) * 1000}`
}

/** Returns a duration in the unit of tokens. */
export function microsOf(ms: number): bigint {
  return BigInt(Math.round(ms * 1000))
}

/**
 * Returns the largest vote that a majority is close to. A vote from a clock that is further away
 * does not count. It would push the other nodes' tokens far ahead of their clocks, or stay behind.
 * Undefined when no majority has clocks that are close enough.
 */
export function chooseToken(
  votes: readonly bigint[],
  quorum: number,
  maxClockDifferenceMs: number,
): bigint | undefined {
  const descending = [...votes].sort((a, b) => (a < b ? 1 : -1))
  const apart = microsOf(maxClockDifferenceMs)
  return descending.find((token, index) => {
    const last = descending[index + quorum - 1]
    return last !== undefined && token - last <= apart
  })
}

/**
 * Returns a token above all of `tokens`. How far above is random, and further each time: claims
 * that raise at the same moment must not choose the same token again and again.
 * @param random from 0 to 1
 */
export function raiseAbove(tokens: readonly bigint[], raises: number, random: number): bigint {
  let largest = 0n
  for (const token of tokens) if (token > largest) largest = token
  const room = RAISE_MICROS * 2 ** Math.min(raises, MOST_DOUBLINGS)
  return largest + 1n + BigInt(Math.floor(random * room))
}
