/**
 * Exclusion: the holders of a lock never weigh more than its capacity, and they agree on the
 * capacity.
 *
 * Sort and sweep: the holds in the order in which they begin, and the ends of the current holds in
 * a heap. The weight grows only where a hold begins, so only beginnings are checked. For holds with
 * a beginning and an end this is exact. A history passes if and only if an exhaustive search finds
 * an order of grants and releases that explains it.
 */
import { byKey, describe, type Hold } from '../hold.js'
import { Heap } from '../heap.js'
import { MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

/** A part of a hold that has one weight: a writer that becomes a reader has two. */
interface Part {
  readonly hold: Hold
  readonly weight: number
  readonly endNs: bigint
}

/** Returns each moment at which the holds of a lock exceeded its capacity. */
export function checkExclusion(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  for (const its of byKey(holds).values()) found.push(...sweep(its))
  return found
}

function sweep(holds: readonly Hold[]): Violation[] {
  const found: Violation[] = []
  const current = new Heap<Part>((a, b) => a.endNs < b.endNs)
  let weight = 0
  for (const hold of holds) {
    // An empty hold excludes no other: the lease ended before its holder learned of it.
    if (hold.endNs <= hold.startNs) continue
    weight -= removeEnded(current, hold.startNs)
    const beside = current.first?.hold
    const part = firstPart(hold)
    current.push(part)
    weight += part.weight
    if (weight > hold.capacity) found.push(beyondCapacity(weight, hold, current))
    else if (beside && beside.capacity !== hold.capacity) found.push(twoCapacities(beside, hold))
    if (found.length >= MOST_VIOLATIONS) break
  }
  return found
}

/**
 * Removes the holds that have ended, and returns their weight. Ends come before beginnings of the
 * same moment: a hold may begin when another ends.
 */
function removeEnded(current: Heap<Part>, nowNs: bigint): number {
  let gone = 0
  for (let part = current.first; part && part.endNs <= nowNs; part = current.first) {
    current.pop()
    gone += part.weight
    const { hold } = part
    if (part.endNs >= hold.endNs || !hold.lowered) continue
    current.push({ hold, weight: hold.lowered.weight, endNs: hold.endNs })
    gone -= hold.lowered.weight
  }
  return gone
}

function firstPart(hold: Hold): Part {
  const { weight, endNs, lowered } = hold
  return { hold, weight, endNs: lowered && lowered.atNs < endNs ? lowered.atNs : endNs }
}

function beyondCapacity(weight: number, hold: Hold, current: Heap<Part>): Violation {
  const others = [...current.values()].map((part) => part.hold).filter((other) => other !== hold)
  return {
    property: 'exclusion',
    key: hold.key,
    message:
      `"${hold.key}" is held with a weight of ${weight}, of ${hold.capacity}: ` +
      `${describe(hold)} came in beside ${others.map(describe).join(' and ')}.`,
    events: piece(...others, hold),
  }
}

function twoCapacities(one: Hold, other: Hold): Violation {
  return {
    property: 'capacity',
    key: other.key,
    message:
      `"${other.key}" has two capacities at a time: ${one.capacity} for ${describe(one)}, ` +
      `${other.capacity} for ${describe(other)}.`,
    events: piece(one, other),
  }
}
