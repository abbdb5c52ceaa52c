/**
 * The database of the PostgreSQL store: one statement for all that is asked, and one connection
 * that listens.
 */
import { createHash } from 'node:crypto'
import { systemRandom } from '../../clock/clock.js'
import { settlesWithin } from '../../clock/with-timeout.js'
import { StoreUnavailableError } from '../../errors.js'
import type { PushedGrant } from '../../store/contract.js'
import type { BellEvents, Database, NameQuery } from '../sql/database.js'
import { areRepeatable, type Answer, type Request } from '../sql/requests.js'
import type { Client } from './clients.js'
import { transactionGuardOf } from './transaction-guard.js'
import { Statements } from '../sql/statements.js'
import { explain, isCutOff, isRetriable, isUnmigrated } from './errors.js'
import type { Row } from './pools.js'
import { postgresSchema, quoteSchema } from './schema.js'

/** How long to wait before the connection that listens is made anew, in milliseconds. */
const AGAIN_MS = [100, 1000] as const
/** A call to ourselves that did not come back by then never will, in milliseconds. */
const PROBE_MS = 2000

export interface PostgresDatabaseOptions {
  readonly client: Client
  readonly schema: string
  readonly autoMigrate: boolean
  readonly requestTimeoutMs: number
}

export class PostgresDatabase implements Database {
  readonly name = 'postgres'
  readonly statements = 2
  /**
   * Nobody can guess it, and only who may read the waiters sees it: a call that carries a grant can
   * be believed.
   */
  readonly channel = `holdfast_${systemRandom.id()}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #options: PostgresDatabaseOptions
  readonly #turn: string
  readonly #turnName: string
  readonly #names: string
  readonly #statements: Statements
  /** Who listens now, if anybody: what was begun for an earlier one ends when it notices. */
  #listener: BellEvents | undefined
  #probed: (() => void) | undefined

  constructor(options: PostgresDatabaseOptions) {
    const { client, autoMigrate, requestTimeoutMs } = options
    this.#options = options
    this.#statements = new Statements({
      store: this.name,
      requestTimeoutMs,
      migrate: autoMigrate ? () => client.script(postgresSchema(options.schema)) : undefined,
      isRetriable,
      isCutOff,
      isUnmigrated,
      explain: (error) => explain(error, options.schema),
    })
    const schema = quoteSchema(options.schema)
    this.transactionGuard = transactionGuardOf(schema)
    this.#turn = `select ${schema}.turn_1($1::text::jsonb)::text as answers`
    this.#turnName = `holdfast_${createHash('sha256').update(this.#turn).digest('hex').slice(0, 32)}`
    this.#names =
      `select name from (select lock as name from ${schema}.holders union select lock from ${schema}.waiters) used ` +
      `where name >= $1::text collate "C" and name > $2::text collate "C" and starts_with(name, $1::text) ` +
      'order by name limit $3::text::integer'
  }

  run(requests: readonly Request[]): Promise<readonly Answer[]> {
    const values = [JSON.stringify(requests)]
    const rows = this.#query(this.#turn, values, areRepeatable(requests), this.#turnName)
    return rows.then(([row]) => JSON.parse(row?.['answers'] as string) as Answer[])
  }

  async names({ prefix, after, limit }: NameQuery): Promise<readonly string[]> {
    const rows = await this.#query(this.#names, [prefix, after, String(limit)], true)
    return rows.map((row) => row['name'] as string)
  }

  async listen(events: BellEvents): Promise<void> {
    this.#listener = events
    await this.#connect(events)
    await this.#probe()
  }

  deafen(): Promise<void> {
    this.#listener = undefined
    return this.#options.client.rest()
  }

  async close(): Promise<void> {
    await this.deafen().catch(() => undefined) // the connection is gone already
  }

  async #connect(events: BellEvents): Promise<void> {
    const onNotify = (payload: string): void => {
      if (payload === '') this.#probed?.()
      else this.#ring(payload, events)
    }
    const onLost = (again: boolean): void => {
      if (again) events.onHint()
      else if (this.#listener) void this.#reconnect(this.#listener, 0)
    }
    await this.#statements.send(
      () => this.#options.client.listen(this.channel, { onNotify, onLost }),
      false,
    )
    // Whoever wanted it may have gone while it was made.
    if (!this.#listener) await this.#options.client.rest()
  }

  /** Tries for as long as somebody listens. Waiters do with the floor meanwhile. */
  async #reconnect(events: BellEvents, tries: number): Promise<void> {
    const [shortestMs, longestMs] = AGAIN_MS
    const delayMs = Math.min(longestMs, shortestMs * 2 ** tries) * (0.5 + systemRandom.next() / 2)
    await new Promise<void>((resolve) => void setTimeout(resolve, delayMs).unref())
    if (this.#listener !== events) return
    try {
      await this.#connect(events)
      events.onHint()
    } catch {
      void this.#reconnect(events, tries + 1)
    }
  }

  /**
   * Calls ourselves. A pooler that gives each transaction another connection lets us listen, and
   * nothing ever comes.
   */
  async #probe(): Promise<void> {
    const probed = new Promise<void>((resolve) => (this.#probed = resolve))
    const heard = settlesWithin(probed, PROBE_MS, { background: true })
    await this.#query('select pg_notify($1::text, $2::text)', [this.channel, ''], true)
    if (await heard) return
    throw new StoreUnavailableError(
      'NOTIFY does not reach the connection that listens: a pooler in transaction mode is in between, it seems. ' +
        'Locks work, but waiters look again once a second only. Give the store a pool that connects directly.',
      { code: 'STORE_CONFIG', store: this.name },
    )
  }

  #ring(payload: string, events: BellEvents): void {
    const call = /^\["([\w.-]+)", "(\d+)", (\d+), ([\d.]+)\]$/.exec(payload)
    // Not one of ours: who can read the table of waiters can also call.
    if (!call) return events.onHint()
    const [, id = '', token = '', tokens, ttlMs] = call
    const grant: PushedGrant = {
      token: BigInt(token),
      tokens: Number(tokens),
      ttlMs: Number(ttlMs),
    }
    events.onGrant(id, grant)
  }

  #query(
    text: string,
    values: string[],
    repeatable: boolean,
    name?: string,
  ): Promise<readonly Row[]> {
    const statement = { name, text, values }
    return this.#statements.send(
      (limit) => this.#options.client.query(statement, limit),
      repeatable,
    )
  }
}
