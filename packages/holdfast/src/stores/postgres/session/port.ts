/** Advisory locks of PostgreSQL, held by a session. */
import { systemRandom } from '../../../clock/clock.js'
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import { advisoryKey } from '../../../transaction/rows/advisory-lock.js'
import type { LockConnection, SessionPort } from '../../session/port.js'
import { codeOf, explain } from '../errors.js'
import type { PgPool, PostgresJs } from '../clients.js'
import { connectPostgresJs } from './connect-postgres-js.js'
import { connectPg, type OwnSession } from './connect.js'
import { hearsNothing, sessionsAreShared } from './probe.js'

/** The setting by which each statement makes sure that it is still the same session that answers. */
const MINE = "current_setting('holdfast.session', true) = $1::text"
/** An idle session is ended after at most so long: the setting is a 32-bit number of milliseconds. */
const LONGEST_MS = 2 ** 31 - 1000
/** A session that we end on time must not be met half way by the server: `postgres` would await the answer for ever. */
const GRACE_MS = 250

/** How a client library gives a session, and how it finds out about poolers. */
export interface SessionSource {
  /** Once `givenUp` is aborted the session is ended, also when it comes only then. */
  connect(givenUp: AbortSignal): Promise<OwnSession>
  isPooled(own: OwnSession, mark: string, givenUp: AbortSignal): Promise<boolean>
}

export function pgSource(pool: PgPool): SessionSource {
  const connect = (givenUp: AbortSignal): Promise<OwnSession> => connectPg(pool, givenUp)
  return {
    connect,
    isPooled: (own, mark, givenUp) => sessionsAreShared(own, mark, () => connect(givenUp)),
  }
}

export function postgresJsSource(sql: PostgresJs): SessionSource {
  return { connect: (givenUp) => connectPostgresJs(sql, givenUp), isPooled: () => hearsNothing(sql) }
}

export class PostgresSessionPort implements SessionPort {
  readonly name = 'postgres'
  readonly sharing = true
  readonly longestMs = LONGEST_MS
  readonly stepMs = 500
  readonly #source: SessionSource
  #probed = false

  constructor(source: SessionSource) {
    this.#source = source
  }

  async open(timeoutMs: number, givenUp: AbortSignal): Promise<LockConnection> {
    try {
      const own = await this.#source.connect(givenUp)
      try {
        return await this.#prepare(own, timeoutMs, givenUp)
      } catch (error) {
        own.end()
        throw error
      }
    } catch (error) {
      throw explained(error)
    }
  }

  async #prepare(own: OwnSession, timeoutMs: number, givenUp: AbortSignal): Promise<LockConnection> {
    const mark = systemRandom.id()
    const [row] = await own.query(
      "select set_config('holdfast.session', $1::text, $2::text::boolean) as mark, pg_is_in_recovery()::text as replica",
      [mark, String(own.inTransaction)],
    )
    if (row?.['replica'] === 'true') throw unsuitable(REPLICA)
    if (!this.#probed && (await this.#source.isPooled(own, mark, givenUp))) throw pooled()
    this.#probed = true
    await limit(own, timeoutMs)
    return new AdvisoryLocks(own, mark)
  }
}

/** The server ends the session when it hears nothing, also of a process that is stopped and of one behind a dead network. */
async function limit(own: OwnSession, timeoutMs: number): Promise<void> {
  const set =
    'select name, set_config(name, $1::text, $2::text::boolean) as value from pg_settings where name in ' +
    "('idle_session_timeout', 'idle_in_transaction_session_timeout', 'tcp_user_timeout')"
  const rows = await own.query(set, [String(timeoutMs + GRACE_MS), String(own.inTransaction)])
  if (!rows.some(({ name }) => name === 'idle_session_timeout')) throw unsuitable(TOO_OLD)
}

class AdvisoryLocks implements LockConnection {
  readonly #own: OwnSession
  readonly #mark: string
  #foreign = false

  constructor(own: OwnSession, mark: string) {
    this.#own = own
    this.#mark = mark
  }

  get ended(): boolean {
    return this.#foreign || this.#own.ended
  }

  async take(lock: string, shared: boolean): Promise<boolean> {
    return (
      (await this.#ask(`pg_try_advisory_lock${shared ? '_shared' : ''}($2::text::bigint)`, lock)) === 'true'
    )
  }

  async drop(lock: string, shared: boolean): Promise<void> {
    await this.#ask(`pg_advisory_unlock${shared ? '_shared' : ''}($2::text::bigint)`, lock)
  }

  async touch(): Promise<void> {
    await this.#ask('true')
  }

  end(): void {
    this.#own.end()
  }

  /** A pooler, or a library that has connected again, would have somebody else's session answer: it does nothing then. */
  async #ask(what: string, lock?: string): Promise<unknown> {
    const values = lock === undefined ? [this.#mark] : [this.#mark, advisoryKey(lock)]
    let row: Readonly<Record<string, unknown>> | undefined
    try {
      // As text: what a library makes of a boolean can be set.
      const text = `select (${MINE})::text as mine, (case when ${MINE} then ${what} end)::text as answer`
      row = (await this.#own.query(text, values))[0]
    } catch (error) {
      throw explained(error)
    }
    if (row?.['mine'] === 'true') return row['answer']
    this.#foreign = true
    this.#own.end()
    throw pooled()
  }
}

const REPLICA = 'This server is a replica, whose advisory locks nobody else sees. Connect to the primary.'
const TOO_OLD =
  'Session mode needs idle_session_timeout, which PostgreSQL has since version 14: a holder that was stopped would keep its ' +
  "lock for ever. Upgrade, or leave out mode: 'session'."

function pooled(): LockError {
  return unsuitable(
    'Statements of one connection are answered by different sessions of the server: a pooler in transaction mode is in ' +
      'between, behind which two clients could get the same lock. Give the store a pool that connects directly or through a ' +
      "pooler in session mode, or leave out mode: 'session'.",
  )
}

function unsuitable(text: string): LockError {
  return new StoreUnavailableError(text, { code: 'STORE_CONFIG', store: 'postgres' })
}

/** Without a word of the schema, of which this mode needs none. */
function explained(error: unknown): LockError {
  if (codeOf(error).startsWith('42')) {
    const reason = error instanceof Error ? error.message : String(error)
    const text = `PostgreSQL refused what session mode needs: ${reason}.`
    return new StoreUnavailableError(text, { code: 'STORE_CONFIG', store: 'postgres', cause: error })
  }
  return explain(error, '')
}
