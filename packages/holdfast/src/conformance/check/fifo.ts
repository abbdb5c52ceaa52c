/**
 * FIFO bound: whoever waits is overtaken so often at most.
 *
 * An overtake is a hold that was asked for after the store had acknowledged that I wait, and
 * granted before mine. In a strict queue there is none, whoever hands the lock on to whom. Where
 * the waiters of a process hand it on among themselves past others, each process may overtake me by
 * one row of hand-offs: it stood before me when I came, and goes behind me when its row is over.
 *
 * Only waits with an `enqueued` event are judged. Two that may hold side by side are told of it in
 * either order, so there the tokens say who was first; where there are none, such a pair is passed
 * over.
 */
import { byKey, describe, placeAfter, type Hold, type Wait } from './hold.js'
import type { Story } from './story.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from './violation.js'

export interface FifoOptions {
  /** How many holds of one process may overtake a waiter: 0 in a strict queue. Default 32. */
  readonly inARow?: number
  /** How long after its first hold a row may still be handed on, in nanoseconds. Default 10 ms. */
  readonly forNs?: bigint
  /** How much later than it happened a hold may be written down, in nanoseconds. Default 0. */
  readonly slackNs?: bigint
}

const IN_A_ROW = 32
const FOR_NS = 10_000_000n

export function checkFifo(
  { holds, waits }: Story,
  { inARow = IN_A_ROW, forNs = FOR_NS, slackNs = 0n }: FifoOptions = {},
): Violation[] {
  const found: Violation[] = []
  const waiting = byKey(waits)
  for (const [key, its] of byKey(holds)) {
    const overtaken = [...its, ...(waiting.get(key) ?? [])].flatMap((mine) =>
      overtakenBy(mine, its, inARow),
    )
    // In a strict queue, too, the store has its turn after a row that passed nobody.
    const rows = rowsTooLong(its, inARow || IN_A_ROW, forNs + slackNs)
    found.push(...overtaken.slice(0, MOST_VIOLATIONS), ...rows)
  }
  return found
}

/**
 * Stops at the first process that overtakes too often: what a starved waiter sees would fill the
 * day.
 */
function overtakenBy(mine: Hold | Wait, byStart: readonly Hold[], inARow: number): Violation[] {
  const { enqueuedNs } = mine
  if (enqueuedNs === undefined) return []
  const grantedNs = 'startNs' in mine ? mine.startNs : mine.endNs
  const byProcess = new Map<number, Hold[]>()
  for (let at = placeAfter(byStart, enqueuedNs); at < byStart.length; at += 1) {
    const other = byStart[at] as Hold
    if (grantedNs !== undefined && other.startNs >= grantedNs) break
    if (other.invokedNs <= enqueuedNs || !isOvertake(other, mine)) continue
    const row = byProcess.get(other.pid) ?? []
    byProcess.set(other.pid, row)
    row.push(other)
    if (row.length > inARow) return [tooOften(mine, row)]
  }
  return []
}

function isOvertake(other: Hold, mine: Hold | Wait): boolean {
  if (other.weight + mine.weight > mine.capacity) return true
  // A wait that ended may have been granted by then, side by side with the other. One that never
  // ended was not.
  if (!('startNs' in mine)) return mine.endNs === undefined
  return other.token !== undefined && mine.token !== undefined && other.token < mine.token
}

function tooOften(mine: Hold | Wait, row: readonly Hold[]): Violation {
  const { key, client, pid, enqueuedNs } = mine
  const message =
    `"${key}" was kept from ${client} (pid ${pid}), which waited from ${enqueuedNs} ns on: process ${row[0]?.pid} ` +
    `got it ${row.length} times first, with requests that came later.`
  return { property: 'fifo', key, message, events: piece(...row, mine) }
}

/**
 * Leases under one claim, one after the other, are a row: it has a most in number, and an end in
 * time.
 */
function rowsTooLong(holds: readonly Hold[], inARow: number, forNs: bigint): Violation[] {
  const found: Violation[] = []
  let first: Hold | undefined
  let length = 0
  for (const hold of holds) {
    if (!first || hold.claim === undefined || hold.claim !== first.claim) {
      first = hold
      length = 1
      continue
    }
    length += 1
    const late = hold.startNs - first.startNs
    if (length <= inARow && late <= forNs) continue
    found.push(rowTooLong(first, hold, length, late))
    if (found.length >= MOST_VIOLATIONS) break
  }
  return found
}

function rowTooLong(first: Hold, hold: Hold, length: number, late: bigint): Violation {
  const message =
    `"${hold.key}" was handed on inside process ${hold.pid} for too long: ${describe(hold)} was number ${length} ` +
    `under one claim, ${milliseconds(late)} after the first.`
  return { property: 'fifo-row', key: hold.key, message, events: piece(first, hold) }
}
