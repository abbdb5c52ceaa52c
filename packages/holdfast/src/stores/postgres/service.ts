/** The database of the PostgreSQL store: one statement for requests, and wake-ups. */
import { createHash } from 'node:crypto'
import { systemRandom, type Clock } from '../../clock/clock.js'
import type { Database, NameQuery, WakeUpEvents } from '../sql/connection/database.js'
import { areRepeatable, areWrites, type Answer, type Request } from '../sql/wire.js'
import type { Client } from './connection/clients.js'
import { transactionGuardOf } from './rule/transaction-guard.js'
import { Statements, type TimeLimit } from '../sql/connection/statements.js'
import { explain, isCutOff, isReadOnly, isRetriable, isUnmigrated } from './errors.js'
import type { CheckedStatement, PgStatement, Row } from './connection/pools.js'
import { migrate } from './connection/migrate.js'
import { quoteSchema } from './rule/schema.js'
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
  /**
   * A random name. Only users who may read the table of waiters see it, so the client may trust a
   * message that carries a grant.
   */
  readonly channel = `holdfast_${systemRandom.id()}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #options: PostgresDatabaseOptions
  readonly #applyOne: TwoTexts
  readonly #applyBatch: TwoTexts
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
    this.#applyOne = {
      plain: named(`select ${schema}.apply_one_v1(${PARAMETERS_OF_ONE})::text as answers`),
      checked: named(
        `call ${schema}.apply_one_in_own_transaction_v1(${PARAMETERS_OF_ONE}, $13::text, answers => null)`,
      ),
    }
    this.#applyBatch = {
      plain: named(`select ${schema}.apply_batch_v1($1::text::jsonb)::text as answers`),
      checked: named(
        `call ${schema}.apply_batch_in_own_transaction_v1($1::text, $2::text, answers => null)`,
      ),
    }
    this.#listLocks = `select name from ${schema}.list_locks_v1($1::text, $2::text, $3::text::integer)`
  }

  run(requests: readonly Request[]): Promise<readonly Answer[]> {
    const [first] = requests
    const isOne = first !== undefined && requests.length === 1 && isShort(first)
    const texts = isOne ? this.#applyOne : this.#applyBatch
    const values = isOne ? parametersOf(first) : [JSON.stringify(requests)]
    const { client } = this.#options
    return this.#statements.ask(
      (limit) => client.query(new ApplyStatement(texts, values, limit, this.channel), limit),
      { repeatable: areRepeatable(requests), writes: areWrites(requests) },
      answersOf,
    )
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

/** What `apply_one_v1` serves, at best without `apply_batch_v1`. */
const SHORT_VERBS: ReadonlySet<string> = new Set<Request['verb']>(['attempt', 'renew', 'withdraw'])

function isShort({ verb, keepsEnd }: Request): boolean {
  return SHORT_VERBS.has(verb) && keepsEnd !== true
}

/** As text, since `postgres` would write numbers by the types of the instance. */
const PARAMETERS_OF_ONE =
  '$1::text, $2::text, $3::text, $4::text, $5::text, $6::text::integer, $7::text::integer, ' +
  '$8::text::integer, $9::text::double precision, $10::text::boolean, ' +
  '$11::text::double precision, $12::text'

/** The parameters of `apply_one_v1`, in their order. */
function parametersOf(request: Request): (string | null)[] {
  const { verb, lock, id, owner, kind, capacity, weight, tokens, ttlMs, enqueue } = request
  return [
    verb,
    lock,
    textOf(id),
    textOf(owner),
    textOf(kind),
    textOf(capacity),
    textOf(weight),
    textOf(tokens),
    textOf(ttlMs),
    textOf(enqueue),
    textOf(request['heartbeatMs']),
    textOf(request['channel']),
  ]
}

function textOf(value: Request[string]): string | null {
  return value === undefined ? null : String(value)
}

/** Routines that do not answer are of another version: `Batches` says what to do. */
function answersOf([row]: readonly Row[]): Answer[] {
  return (JSON.parse(row?.['answers'] as string) ?? []) as Answer[]
}

/** Applies requests. A class, since copies of a statement are a part of what a request costs. */
class ApplyStatement implements PgStatement {
  readonly name: string
  readonly text: string
  readonly values: (string | null)[]
  readonly #checked: NamedText
  readonly #leaves: string | null

  /** @param channel for rule/leave-read-only.sql, if the limit lets the statement be moved */
  constructor(
    { plain, checked }: TwoTexts,
    values: (string | null)[],
    { isMovable }: TimeLimit,
    channel: string,
  ) {
    this.name = plain.name
    this.text = plain.text
    this.values = values
    this.#checked = checked
    this.#leaves = isMovable ? channel : null
  }

  checked(): CheckedStatement {
    const values = [...this.values, this.#leaves]
    return { ...this.#checked, values, empty: () => void values.fill(null, 0, -1) }
  }
}

/** A statement, and the same in a transaction of its own. */
interface TwoTexts {
  readonly plain: NamedText
  readonly checked: NamedText
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
