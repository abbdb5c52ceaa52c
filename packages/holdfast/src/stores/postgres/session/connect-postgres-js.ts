/** A session of our own out of the pool of `postgres`. */
import { StoreUnavailableError } from '../../../errors.js'
import { endWhen } from '../../session/give-up.js'
import type { PostgresJs, Row } from '../clients.js'
import { untransformed } from '../untransformed.js'
import type { OwnSession } from './connect.js'

/** What `begin` gives to its callback. */
interface Scope {
  unsafe(text: string, values: never[], options: { prepare: boolean }): PromiseLike<readonly unknown[]>
}

interface WithBegin {
  begin(work: (scope: Scope) => Promise<unknown>): Promise<unknown>
}

/**
 * One of the pool's, in a transaction that stays open: it has read nothing and written nothing, so it is in nobody's way.
 * The library has a `reserve` for this, but a statement on a reserved connection that has broken ends the process. A
 * transaction tells of the end of its connection, and nothing may be sent on it after that, no COMMIT either.
 */
export async function connectPostgresJs(sql: PostgresJs, givenUp: AbortSignal): Promise<OwnSession> {
  const { max } = sql.options as { readonly max?: number }
  if (max !== undefined && max < 2) throw tooSmall()
  const session = new TransactionSession(sql)
  endWhen(givenUp, () => session.abandon())
  await session.open()
  return session
}

class TransactionSession implements OwnSession {
  readonly inTransaction = true
  readonly #sql: PostgresJs
  /** Its abort lets the transaction commit, and the connection go back into the pool. */
  readonly #farewell = new AbortController()
  #scope!: Scope
  /** The process of the server, and since when it is this one: numbers are used again. */
  #backend: readonly string[] = []
  #ended = false

  constructor(sql: PostgresJs) {
    this.#sql = sql
  }

  get ended(): boolean {
    return this.#ended
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const lasting = (this.#sql as unknown as WithBegin).begin(async (scope) => {
        this.#scope = scope
        const [backend] = await this.#ask(
          'select pid::text, backend_start::text as start from pg_stat_activity where pid = pg_backend_pid()',
        )
        this.#backend = [String(backend?.['pid']), String(backend?.['start'])]
        const said = new Promise((bye) => this.#farewell.signal.addEventListener('abort', bye))
        resolve()
        if (!this.#farewell.signal.aborted) await said
      })
      lasting.then(
        () => (this.#ended = true),
        (error: unknown) => {
          this.#ended = true
          reject(error)
        },
      )
    })
  }

  async query(text: string, values: readonly string[]): Promise<readonly Row[]> {
    if (this.#ended) throw new Error('the connection has ended')
    try {
      return await this.#ask(text, values)
    } catch (error) {
      this.#ended = true
      if (isAnswer(error)) this.#terminate()
      throw error
    }
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#ask('select pg_advisory_unlock_all()').then(
      () => this.#farewell.abort(),
      (error: unknown) => {
        if (isAnswer(error)) this.#terminate()
      },
    )
  }

  /** Nothing limits this session yet, and a connection that answers nothing cannot be given back: the server is to end it. */
  abandon(): void {
    if (this.#ended) return
    this.#ended = true
    this.#farewell.abort()
    if (this.#backend.length > 0) this.#terminate()
  }

  #ask(text: string, values: readonly string[] = []): Promise<readonly Row[]> {
    const pending = this.#scope.unsafe(text, [...values] as never[], { prepare: false })
    return untransformed(this.#sql, text, pending)
  }

  /** A statement that failed has doomed the transaction, but not the locks: with a rollback they would go into the pool. */
  #terminate(): void {
    const kill =
      'select pg_terminate_backend(pid) from pg_stat_activity ' +
      'where pid = $1::text::integer and backend_start = $2::text::timestamptz'
    // What could not be ended so ends by its timeout.
    Promise.resolve(this.#sql.unsafe(kill, [...this.#backend] as never[])).catch(() => undefined)
  }
}

/** Whether the server has said so, and goes on listening. */
function isAnswer(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('severity' in error)) return false
  return error.severity !== 'FATAL' && error.severity !== 'PANIC'
}

function tooSmall(): StoreUnavailableError {
  return new StoreUnavailableError(
    'Session mode keeps one connection of the pool for each TTL, and needs another one. Give it a max of 2 or more.',
    { code: 'STORE_CONFIG', store: 'postgres' },
  )
}
