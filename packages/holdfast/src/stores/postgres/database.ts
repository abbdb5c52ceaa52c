/** The database of the PostgreSQL store: one statement for requests, and wake-ups. */
import { createHash } from 'node:crypto'
import { systemRandom } from '../../clock/clock.js'
import type { Database, NameQuery, WakeUpEvents } from '../sql/database.js'
import { areRepeatable, type Answer, type Request } from '../sql/requests.js'
import type { Client } from './clients.js'
import { transactionGuardOf } from './transaction-guard.js'
import { Statements } from '../sql/statements.js'
import { explain, isCutOff, isRetriable, isUnmigrated } from './errors.js'
import type { Row } from './pools.js'
import { postgresSchema, quoteSchema } from './schema.js'
import { WakeUpListener } from './wake-up-listener.js'

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
  readonly #listener: WakeUpListener

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
    this.#listener = new WakeUpListener(client, this.#statements, this.channel)
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

  listen(events: WakeUpEvents): Promise<void> {
    return this.#listener.start(events)
  }

  unlisten(): Promise<void> {
    return this.#listener.stop()
  }

  async close(): Promise<void> {
    await this.unlisten().catch(() => undefined) // the connection is gone already
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
