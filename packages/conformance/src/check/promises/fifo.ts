/**
 * FIFO bound: a waiter is overtaken a limited number of times.
 *
 * An overtake of a waiter is a hold that was requested after the store acknowledged the waiter, and
 * granted before it. A strict queue has none, also with local hand-offs. With cohorts each process
 * may overtake a waiter by one row of hand-offs. The process was first in the queue when the waiter
 * came, and queues behind it after the row.
 *
 * Only waits with an `enqueued` event are checked. Two claims that fit beside each other may be
 * reported in any order, so their tokens decide which was first. Without tokens such a pair is
 * ignored.
 */
import { byKey, describe, indexAfter, type Hold, type Wait } from '../hold.js'
import type { Story } from '../story.js'
import { milliseconds, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

/** How far a client may overtake earlier waiters: the bound of a cohort. */
export interface FifoOptions {
  /** How many holds of one process may overtake a waiter. 0 is a strict queue. Default: 32. */
  readonly inARow?: number | undefined
  /** How long after its first hold a row may hand on, in nanoseconds. Default: 10 ms. */
  readonly forNs?: bigint | undefined
  /** How late the history may record a hold, in nanoseconds. Default: 0. */
  readonly slackNs?: bigint | undefined
}

const IN_A_ROW = 32
const FOR_NS = 10_000_000n
/** A wait is over this long before its error at most: the client asks who holds the lock. */
const REPORT_NS = 250_000_000n

/** Returns each grant that overtook an earlier waiter by more than the bound. */
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
    // A strict queue limits rows as well, although they overtake no waiter.
    const rows = rowsTooLong(its, inARow || IN_A_ROW, forNs + slackNs)
    found.push(...overtaken.slice(0, MOST_VIOLATIONS), ...rows)
  }
  return found
}

/** Finds the first process that overtakes too often. One is enough for a starved waiter. */
function overtakenBy(mine: Hold | Wait, byStart: readonly Hold[], inARow: number): Violation[] {
  const { enqueuedNs } = mine
  if (enqueuedNs === undefined) return []
  const grantedNs = 'startNs' in mine ? mine.startNs : wantedUntilNs(mine)
  const byProcess = new Map<number, Hold[]>()
  for (let at = indexAfter(byStart, enqueuedNs); at < byStart.length; at += 1) {
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

/** Until when a caller that gave up certainly waited. */
function wantedUntilNs({ endNs }: Wait): bigint | undefined {
  return endNs === undefined ? undefined : endNs - REPORT_NS
}

function isOvertake(other: Hold, mine: Hold | Wait): boolean {
  if (other.weight + mine.weight > mine.capacity) return true
  // A wait that ended may have been granted beside the other before that. A wait without an end was
  // not.
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

/** Finds rows, which are leases of one claim one after another, that are too many or too long. */
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
