/**
 * What the database forgets: holders and waiters of an earlier boot, and locks that were idle for a
 * day. A lock whose leases have ended is idle, also where no request has asked for it since: so
 * are all slots of `oncePerTick`.
 *
 * A row that is deleted takes its last token along, so a floor is raised first that later tokens
 * have to exceed.
 */
import { CLOCK_SLACK_MS, EXPIRES_MS, UNUSED } from './codec.js'
import { single, type Database } from './engine.js'
import type { Machine } from '../folder/machine.js'
import { assertGone } from './other-boot.js'

/** Idle locks are forgotten after this time. */
const KEEP_IDLE_MS = 24 * 3_600_000
/** All rows are looked at once in this time. */
export const ROUND_MS = 3_600_000
/** The condition that a lock is held or waited for. A released one may be marked as busy, too. */
const USED = `busy = 1 AND instr(state, '${UNUSED}') = 0`
/** The number of rows in one transaction: it blocks writers for a few milliseconds. */
const PORTION = 500

/**
 * Ends the claims of an earlier boot. The tokens stay.
 * @param gone the processes of it that are known to be gone
 * @throws OtherBoot when there are others.
 */
export function forgetEarlierBoot(db: Database, machine: Machine, gone: ReadonlySet<string>): void {
  if (!isOfEarlierBoot(db, machine)) return
  assertGone(db, gone)
  raiseTokenFloor(db, USED)
  db.exec(`DELETE FROM locks WHERE ${USED}; DELETE FROM peers`)
  writeFact(db, 'boot', machine.bootId)
}

/** Returns whether the database was last used before this boot, or never. */
export function isOfEarlierBoot(db: Database, machine: Machine): boolean {
  return readFact(db, 'boot') !== machine.bootId
}

/**
 * Looks at some rows, and forgets those that are old. The next call continues where this one
 * stopped, until all rows were read. That is cheap, so no index has to be kept for it at each lock.
 * Returns whether there is more to do.
 */
export function forgetSomeIdle(db: Database, machine: Machine): boolean {
  if (!isForgettingDue(db, machine)) return false
  const nowMs = Math.floor(machine.wallMs())
  const from = readNumber(db, 'idle_row')
  const rows = `SELECT rowid AS row FROM locks WHERE rowid > ${from} ORDER BY rowid LIMIT ${PORTION}`
  const [found] = db.prepare(`SELECT count(*) AS count, max(row) AS last FROM (${rows})`).all() as [
    { count: number; last: number | null },
  ]
  if (found.last !== null) {
    const portion = `rowid > ${from} AND rowid <= ${found.last}`
    const old = `${portion} AND touched_ms < ${nowMs - KEEP_IDLE_MS} AND ${idle(machine)}`
    raiseTokenFloor(db, old)
    db.exec(`DELETE FROM locks WHERE ${old}`)
    const quiet = `touched_ms < ${nowMs - ROUND_MS} AND busy = 1 AND NOT (${USED})`
    db.exec(`UPDATE locks SET busy = 0 WHERE ${portion} AND ${quiet}`)
  }
  const more = found.count === PORTION
  writeFact(db, 'idle_row', more ? (found.last ?? 0) : 0)
  if (!more) writeFact(db, 'idle_round_ms', nowMs)
  return more
}

/** Returns the condition that a lock has no waiters, and no holder whose lease may last. */
function idle(machine: Machine): string {
  const endedMs = Math.floor(machine.monotonicMs()) - CLOCK_SLACK_MS
  const lasts = `SELECT 1 FROM json_each(state, '$.h') WHERE json_extract(value, '$[${EXPIRES_MS}]') >= ${endedMs}`
  return `(busy = 0 OR (json_array_length(state, '$.w') = 0 AND NOT EXISTS (${lasts})))`
}

/** Whether a round has been begun, or the last one is an hour ago. */
export function isForgettingDue(db: Database, machine: Machine): boolean {
  // Either way: the wall clock may have been set back since.
  const sinceMs = Math.abs(machine.wallMs() - readNumber(db, 'idle_round_ms'))
  return readNumber(db, 'idle_row') !== 0 || sinceMs >= ROUND_MS
}

/** Returns what the tokens of locks without a row must exceed, at any wall clock time. */
export function readTokenFloor(db: Database): number {
  return readNumber(db, 'token_floor')
}

function raiseTokenFloor(db: Database, condition: string): void {
  const last = single(
    db,
    `SELECT max(json_extract(state, '$.t')) AS value FROM locks WHERE ${condition}`,
  )
  writeFact(db, 'token_floor', Math.max(readTokenFloor(db), Number(last ?? 0)))
}

function readNumber(db: Database, name: string): number {
  return Number(readFact(db, name) ?? 0)
}

function readFact(db: Database, name: string): unknown {
  return single(db, `SELECT value FROM facts WHERE name = '${name}'`)
}

export function writeFact(db: Database, name: string, value: string | number): void {
  db.prepare('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)').run(name, String(value))
}
