/** The database of the PostgreSQL store: one statement for requests, and wake-ups. */
import { createHash } from 'node:crypto'
import { systemRandom, type Clock } from '../../clock/clock.js'
import type { Database, NameQuery, WakeUpEvents } from '../sql/connection/database.js'
import { areRepeatable, areWrites, type Answer, type Request } from '../sql/wire.js'
import type { Client } from './connection/clients.js'
import { transactionGuardOf } from './rule/transaction-guard.js'
import { Statements, type TimeLimit } from '../sql/connection/statements.js'
import { explain, isCutOff, isReadOnly, isRetriable, isUnmigrated } from './errors.js'
import type { CheckedStatement } from './connection/pools.js'
import { migrate } from './connection/migrate.js'
import { quoteSchema } from './rule/schema.js'
import { WakeUpListener } from './wake-ups.js'

/** A batch without requests, as JSON. */
const NO_REQUESTS = '[]'

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
  /**
   * A random name. Only users who may read the table of waiters see it, so the client may trust a
   * message that carries a grant.
   */
  readonly channel = `holdfast_${systemRandom.id()}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #options: PostgresDatabaseOptions
  readonly #applyBatch: NamedText
  readonly #applyBatchChecked: NamedText
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
    this.#applyBatch = named(`select ${schema}.apply_batch_v1($1::text::jsonb)::text as answers`)
    this.#applyBatchChecked = named(
      `call ${schema}.apply_batch_in_own_transaction_v1($1::text, $2::text, answers => null)`,
    )
    this.#listLocks =
      `select name from (select lock as name from ${schema}.holders union select lock from ${schema}.waiters) used ` +
      `where name >= $1::text collate "C" and name > $2::text collate "C" and starts_with(name, $1::text) ` +
      'order by name limit $3::text::integer'
  }

  run(requests: readonly Request[]): Promise<readonly Answer[]> {
    const values = [JSON.stringify(requests)]
    const rows = this.#statements.send(
      (limit) =>
        this.#options.client.query(
          { ...this.#applyBatch, values, checked: this.#checked(values, limit) },
          limit,
        ),
      { repeatable: areRepeatable(requests), writes: areWrites(requests) },
    )
    return rows.then(([row]) => JSON.parse(row?.['answers'] as string) as Answer[])
  }

  #checked([requests = '']: readonly string[], { isMovable }: TimeLimit): CheckedStatement {
    const values = [requests, isMovable ? this.channel : null]
    return {
      ...this.#applyBatchChecked,
      values,
      empty: () => void (values[0] = NO_REQUESTS),
    }
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

interface NamedText {
  readonly name: string
  readonly text: string
}

/** Names a statement by its text, so that a name means the same on each connection. */
function named(text: string): NamedText {
  const digest = createHash('sha256').update(text).digest('hex')
  return { name: `holdfast_${digest.slice(0, 32)}`, text }
}
