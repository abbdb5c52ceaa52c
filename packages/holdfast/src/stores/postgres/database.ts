/** The database of the PostgreSQL store: one statement for requests, one connection to listen. */
import { createHash } from 'node:crypto'
import { systemRandom } from '../../clock/clock.js'
import { settlesWithin } from '../../clock/with-timeout.js'
import { StoreUnavailableError } from '../../errors.js'
import type { PushedGrant } from '../../store/contract.js'
import type { WakeupEvents, Database, NameQuery } from '../sql/database.js'
import { areRepeatable, type Answer, type Request } from '../sql/requests.js'
import type { Client } from './clients.js'
import { transactionGuardOf } from './transaction-guard.js'
import { Statements } from '../sql/statements.js'
import { explain, isCutOff, isRetriable, isUnmigrated } from './errors.js'
import type { Row } from './pools.js'
import { postgresSchema, quoteSchema } from './schema.js'

/** How long to wait before a lost connection is opened again, in ms: at first, and at most. */
const RECONNECT_MS = [100, 1000] as const
/** How long a notification of this client to itself may take, in milliseconds. */
const PROBE_MS = 2000

export interface PostgresDatabaseOptions {
  readonly client: Client
  readonly schema: string
  readonly autoMigrate: boolean
  readonly requestTimeoutMs: number
}

export class PostgresDatabase implements Database {
  readonly name = 'postgres'
  readonly maxStatements = 2
  /**
   * A random name. Only users who may read the table of waiters see it, so the client may trust a
   * message that carries a grant.
   */
  readonly channel = `holdfast_${systemRandom.id()}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #options: PostgresDatabaseOptions
  readonly #applyBatch: string
  readonly #applyBatchName: string
  readonly #listLocks: string
  readonly #statements: Statements
  /** The listener of now. Work that was started for an earlier one ends when it notices. */
  #listener: WakeupEvents | undefined
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
    this.#applyBatch = `select ${schema}.apply_batch_v1($1::text::jsonb)::text as answers`
    const digest = createHash('sha256').update(this.#applyBatch).digest('hex')
    this.#applyBatchName = `holdfast_${digest.slice(0, 32)}`
    this.#listLocks =
      `select name from (select lock as name from ${schema}.holders union select lock from ${schema}.waiters) used ` +
      `where name >= $1::text collate "C" and name > $2::text collate "C" and starts_with(name, $1::text) ` +
      'order by name limit $3::text::integer'
  }

  run(requests: readonly Request[]): Promise<readonly Answer[]> {
    const values = [JSON.stringify(requests)]
    const rows = this.#query(
      this.#applyBatch,
      values,
      areRepeatable(requests),
      this.#applyBatchName,
    )
    return rows.then(([row]) => JSON.parse(row?.['answers'] as string) as Answer[])
  }

  async names({ prefix, after, limit }: NameQuery): Promise<readonly string[]> {
    const rows = await this.#query(this.#listLocks, [prefix, after, String(limit)], true)
    return rows.map((row) => row['name'] as string)
  }

  async listen(events: WakeupEvents): Promise<void> {
    this.#listener = events
    await this.#connect(events)
    await this.#probe()
  }

  unlisten(): Promise<void> {
    this.#listener = undefined
    return this.#options.client.closeListener()
  }

  async close(): Promise<void> {
    await this.unlisten().catch(() => undefined) // the connection is gone already
  }

  async #connect(events: WakeupEvents): Promise<void> {
    const onNotify = (payload: string): void => {
      if (payload === '') this.#probed?.()
      else this.#wake(payload, events)
    }
    const onLost = (reconnected: boolean): void => {
      if (reconnected) events.onHint()
      else if (this.#listener) void this.#reconnect(this.#listener, 0)
    }
    await this.#statements.send(
      () => this.#options.client.listen(this.channel, { onNotify, onLost }),
      false,
    )
    // The last waiter may have gone while the connection was opened.
    if (!this.#listener) await this.#options.client.closeListener()
  }

  /** Tries as long as a waiter listens. Waiters ask once a second meanwhile. */
  async #reconnect(events: WakeupEvents, tries: number): Promise<void> {
    const [shortestMs, longestMs] = RECONNECT_MS
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
   * Sends a notification to this client. A pooler that gives each transaction another connection
   * accepts LISTEN, and no notification ever arrives.
   */
  async #probe(): Promise<void> {
    const probed = new Promise<void>((resolve) => (this.#probed = resolve))
    const heard = settlesWithin(probed, PROBE_MS, { background: true })
    await this.#query('select pg_notify($1::text, $2::text)', [this.channel, ''], true)
    if (await heard) return
    throw new StoreUnavailableError(
      'NOTIFY does not reach the connection that listens. A pooler in transaction mode seems to be in ' +
        'between. Locks work, but waiters only ask again once a second. Give the store a pool that ' +
        'connects directly.',
      { code: 'STORE_CONFIG', store: this.name },
    )
  }

  #wake(payload: string, events: WakeupEvents): void {
    const message = /^\["([\w.-]+)", "(\d+)", (\d+), ([\d.]+)\]$/.exec(payload)
    // Another program that can read the table of waiters may send anything.
    if (!message) return events.onHint()
    const [, id = '', token = '', tokens, ttlMs] = message
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
