/** The database of the PostgreSQL store: one statement for requests, and wake-ups. */
import { systemRandom, type Clock } from '../../clock/clock.js'
import type { Batch, Database, NameQuery, WakeUpEvents } from '../sql/connection/database.js'
import type { Client } from './connection/port.js'
import { transactionGuardOf } from './rule/transaction-guard.js'
import { Statements } from '../sql/connection/statements.js'
import { explain, isCutOff, isReadOnly, isRetriable, isUnmigrated } from './errors.js'
import { migrate } from './connection/migrate.js'
import { quoteSchema } from './rule/schema.js'
import { SentBatch, textsOf, type BatchSender } from './verbs.js'
import { WakeUpListener } from './wake-ups.js'

export interface PostgresDatabaseOptions {
  readonly client: Client
  readonly schema: string
  readonly autoMigrate: boolean
  readonly requestTimeoutMs: number
  readonly clock: Clock
}

export class PostgresDatabase implements Database {
  readonly name = 'postgres'
  readonly clock: Clock
  readonly maxStatements = 2
  readonly largestBatch = 128
  readonly lends: boolean
  /**
   * A random name. Only users who may read the table of waiters see it, so the client may trust a
   * message that carries a grant.
   */
  readonly channel = `holdfast_${systemRandom.id()}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #options: PostgresDatabaseOptions
  readonly #sender: BatchSender
  readonly #listLocks: string
  readonly #statements: Statements
  readonly #listener: WakeUpListener

  constructor(options: PostgresDatabaseOptions) {
    const { client, autoMigrate, requestTimeoutMs } = options
    this.clock = options.clock
    this.#options = options
    this.#statements = new Statements({
      store: this.name,
      clock: this.clock,
      requestTimeoutMs,
      migrate: autoMigrate ? () => migrate(client, options.schema) : undefined,
      isRetriable,
      isCutOff,
      isUnmigrated,
      isReadOnly,
      explain: (error, has) => explain(error, options.schema, has),
      onMoved: () => client.leaveListener(),
    })
    this.#listener = new WakeUpListener(client, this.#statements, this.channel)
    const schema = quoteSchema(options.schema)
    this.transactionGuard = transactionGuardOf(schema)
    this.#sender = { client, channel: this.channel, texts: textsOf(schema), retakes: true }
    this.lends = client.lends
    this.#listLocks = `select name from ${schema}.list_locks_v1($1::text, $2::text, $3::text::integer)`
  }

  run(batch: Batch): void {
    this.#statements.start(new SentBatch(this.#sender, batch))
  }

  async names({ prefix, after, limit }: NameQuery): Promise<readonly string[]> {
    const values = [prefix, after, String(limit)]
    const statement = { name: undefined, text: this.#listLocks, values }
    const rows = await this.#statements.send(
      (limit) => this.#options.client.query(statement, limit),
      {
        repeatable: true,
      },
    )
    return rows.map((row) => row['name'] as string)
  }

  written(): Promise<void> | undefined {
    return this.#options.client.written?.()
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
}
