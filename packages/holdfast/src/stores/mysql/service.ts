/** The database of the MySQL store: one call of a procedure for all requests, and wake-ups. */
import { systemRandom, type Clock } from '../../clock/clock.js'
import type {
  Batch,
  Database,
  FoundGrant,
  NameQuery,
  WaitingClaim,
  WakeUpEvents,
} from '../sql/connection/database.js'
import { Statements, type SendOptions } from '../sql/connection/statements.js'
import { WakeUpListener } from './wake-ups.js'
import { statement, type Connections } from './connection/clients.js'
import { execute } from './connection/loans.js'
import { transactionGuardOf } from './rule/transaction-guard.js'
import { explain, isCutOff, isReadOnly, isRetriable, isUnmigrated } from './errors.js'
import { migrate } from './connection/migrate.js'
import { hexOf, nameOf } from './keys.js'
import { checkPrefix } from './rule/schema.js'
import { PlainRequests } from './verbs/plain-requests.js'
import { SentBatch, type BatchSender } from './verbs/sent-batch.js'

export interface MysqlDatabaseOptions {
  readonly pool: Connections
  readonly prefix: string
  readonly autoMigrate: boolean
  readonly requestTimeoutMs: number
  readonly clock: Clock
}

interface FoundRow {
  readonly id: string
  readonly token: string
  readonly tokens: unknown
  readonly ttl_ms: unknown
}

export class MysqlDatabase implements Database {
  readonly name = 'mysql'
  readonly clock: Clock
  readonly maxStatements = 4
  readonly lends = true
  /** The procedures search the text of a batch for each request in it. */
  readonly largestBatch = 32
  readonly channel = `hf${systemRandom.id().replaceAll(/[^a-z0-9]/gi, '')}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #pool: Connections
  readonly #statements: Statements
  readonly #sender: BatchSender
  #listener: WakeUpListener | undefined

  constructor({ pool, prefix, autoMigrate, requestTimeoutMs, clock }: MysqlDatabaseOptions) {
    checkPrefix(prefix)
    this.clock = clock
    this.#pool = pool
    this.#statements = new Statements({
      store: this.name,
      clock: this.clock,
      requestTimeoutMs,
      migrate: autoMigrate ? () => migrate(pool, prefix) : undefined,
      isRetriable,
      isCutOff,
      isUnmigrated,
      isReadOnly,
      explain: (error, has) => explain(error, prefix, has),
      onMoved: () => this.#listener?.leave(),
    })
    this.transactionGuard = transactionGuardOf(prefix)
    this.#sender = { pool, prefix, plain: new PlainRequests(prefix, clock) }
  }

  run(batch: Batch): void {
    this.#statements.start(new SentBatch(this.#sender, batch))
  }

  async names({ prefix, after, limit }: NameQuery): Promise<readonly string[]> {
    const sql = `call ${this.#sender.prefix}list_locks_v1(unhex(?), unhex(?), ?)`
    const [rows] = (await this.#rows(sql, [hexOf(prefix), hexOf(after), String(limit)], {
      repeatable: true,
    })) as [{ name: string }[]]
    return rows.map(({ name }) => nameOf(name))
  }

  async findGrants(claims: readonly WaitingClaim[]): Promise<readonly FoundGrant[]> {
    const sql = `call ${this.#sender.prefix}find_grants_v1(?)`
    const asked = JSON.stringify(claims.map(({ lock, id }) => [hexOf(lock), id]))
    const [rows] = (await this.#rows(sql, [asked], { repeatable: true })) as [FoundRow[]]
    return rows.map(({ id, token, tokens, ttl_ms }) => ({
      id,
      grant: { token: BigInt(token), tokens: Number(tokens), ttlMs: Number(ttl_ms) },
    }))
  }

  async listen(events: WakeUpEvents): Promise<void> {
    this.#listener?.stop()
    const listener = new WakeUpListener(this.#pool, this.#statements, this.channel, events)
    this.#listener = listener
    await listener.start()
  }

  async unlisten(): Promise<void> {
    this.#listener?.stop()
    this.#listener = undefined
  }

  close(): Promise<void> {
    return this.unlisten()
  }

  #rows(sql: string, values: readonly string[], options: SendOptions): Promise<unknown> {
    return this.#statements.send(
      (limit) => execute(this.#pool, statement(sql, values), limit),
      options,
    )
  }
}
