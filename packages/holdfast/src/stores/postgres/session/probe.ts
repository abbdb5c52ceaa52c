/**
 * Whether a pooler in transaction mode is in between. It lends a session of the server for one transaction, and then to
 * somebody else, who holds all the locks of that session from then on.
 */
import { EventEmitter, once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { systemRandom } from '../../../clock/clock.js'
import type { PostgresJs } from '../clients.js'
import { farewell } from '../farewell.js'
import type { OwnSession } from './connect.js'

/** A pooler may have several sessions to choose from, so one look proves little. */
const LOOKS = 3
const MARK = "current_setting('holdfast.session', true)"

/**
 * A second connection begins a transaction and so keeps whatever session it is lent. If that is the one that the first has
 * marked, or the first does not find its mark any more, sessions are passed around.
 */
export async function sessionsAreShared(
  own: OwnSession,
  mark: string,
  connect: () => Promise<OwnSession>,
): Promise<boolean> {
  const other = await connect()
  try {
    for (let look = 0; look < LOOKS; look += 1) {
      if (await sharesSession(own, other, mark)) return true
    }
    return false
  } finally {
    other.end()
  }
}

async function sharesSession(own: OwnSession, other: OwnSession, mark: string): Promise<boolean> {
  await other.query('begin', [])
  const [lent] = await other.query(`select ${MARK} as mark`, [])
  if (lent?.['mark'] === mark) {
    // Whoever is lent this session next must not take it for ours.
    await other.query("select set_config('holdfast.session', '', false) as mark", [])
    await other.query('commit', [])
    return true
  }
  const [kept] = await own.query(`select ${MARK} as mark`, [])
  await other.query('rollback', [])
  return kept?.['mark'] !== mark
}

/** A call to ourselves comes back at once. One that did not by then, in milliseconds, may be lost. */
const CALL_MS = 1500
/** This process, or the server, may have stood still for so long: that seldom happens twice in a row. */
const CALLS = 2

/**
 * The same through `postgres`, whose connections cannot be told apart: behind such a pooler it can listen, and nothing ever
 * comes. Its session is safe all the same, being one transaction, but would be one of the few that the pooler has.
 */
export async function hearsNothing(sql: PostgresJs): Promise<boolean> {
  const channel = `holdfast_${systemRandom.id()}`
  const calls = new EventEmitter()
  const heard = once(calls, 'call').then(() => true)
  const done = new AbortController()
  const listening = await sql.listen(channel, () => void calls.emit('call'))
  try {
    for (let call = 0; call < CALLS; call += 1) {
      await sql.unsafe('select pg_notify($1::text, $2::text)', [channel, ''] as never[], { prepare: false })
      if (await Promise.race([heard, setTimeout(CALL_MS, false, { signal: done.signal })])) return false
    }
    return true
  } finally {
    done.abort()
    await farewell(listening.unlisten())
  }
}
