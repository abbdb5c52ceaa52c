/** The database of the MySQL store: one call of a procedure for all requests, and wake-ups. */
import { systemRandom, type Clock } from '../../clock/clock.js'
import type {
  Database,
  FoundGrant,
  NameQuery,
  WaitingClaim,
  WakeUpEvents,
} from '../sql/connection/database.js'
import { areRepeatable, areWrites, type Answer, type Answers, type Request } from '../sql/wire.js'
import { Statements, type SendOptions } from '../sql/connection/statements.js'
import { WakeUpListener } from './wake-ups.js'
import {
  borrow,
  execute,
  statement,
  type Changes,
  type Connections,
  type MysqlConnection,
} from './connection/clients.js'
import { transactionGuardOf } from './rule/transaction-guard.js'
import { explain, isCutOff, isReadOnly, isRetriable, isUnmigrated } from './errors.js'
import { migrate } from './connection/migrate.js'
import { hexOf, nameOf } from './keys.js'
import { checkPrefix } from './rule/schema.js'
import { answersOf, callOf, type ProcedureCall } from './wire.js'
import { PlainRequests, unknownRelease } from './verbs/plain-requests.js'

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
  /** The procedures search the text of a batch for each request in it. */
  readonly largestBatch = 32
  readonly channel = `hf${systemRandom.id().replaceAll(/[^a-z0-9]/gi, '')}`
  readonly transactionGuard: Database['transactionGuard']
  readonly #pool: Connections
  readonly #statements: Statements
  readonly #plain: PlainRequests
  readonly #prefix: string
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
    this.#plain = new PlainRequests(prefix, clock)
    this.#prefix = prefix
  }

  run(requests: readonly Request[]): Promise<Answers> {
    const known = this.#plain.known(requests)
    if (known) return this.#runUnknown(requests, known)
    const [only] = requests
    return only && requests.length === 1 && this.#plain.begins(only)
      ? this.#runPlainly(only)
      : this.#call(requests)
  }

  #call(requests: readonly Request[]): Promise<Answers> {
    const call = callOf(this.#prefix, requests)
    this.#plain.noteOthers(requests)
    return this.#statements.ask(
      (limit) => execute(this.#pool, statement(call.sql, call.values), limit),
      { repeatable: areRepeatable(requests), writes: areWrites(requests) },
      (rows) => this.#noteAnswers(requests, answersOf(rows, call, requests), false),
    )
  }

  /** Sends a request as a plain statement, and again to the procedure if that does nothing. */
  #runPlainly(request: Request): Promise<Answers> {
    const requests = [request]
    let isFirst = true
    /** Whether the plain statement may have done its work unheard. */
    let inDoubt = false
    let call: ProcedureCall | undefined
    const use = async (connection: MysqlConnection): Promise<unknown> => {
      if (isFirst && (await this.#plain.isAllowed(connection))) {
        isFirst = false
        inDoubt = true
        const changes = await this.#plain.send(request, connection)
        if (changes?.affectedRows === 1) return changes
        inDoubt = changes === undefined
      }
      isFirst = false
      this.#plain.noteOthers(requests)
      call = callOf(this.#prefix, requests)
      return (await connection.execute(statement(call.sql, call.values)))[0]
    }
    return this.#statements.ask(
      (limit) => borrow(this.#pool, limit, use),
      { repeatable: true, writes: true },
      (result) => {
        if (!call) return [this.#plain.done(request, result as Changes)]
        const answers = this.#noteAnswers(requests, answersOf(result, call, requests), true)
        if (inDoubt && request.verb === 'withdraw' && answers[0]?.['outcome'] === 'absent')
          throw unknownRelease()
        return answers
      },
    )
  }

  /** Sends the requests to which no answer is known. */
  async #runUnknown(
    requests: readonly Request[],
    known: readonly (Answer | undefined)[],
  ): Promise<Answers> {
    const rest = requests.filter((_, index) => !known[index])
    const answers = rest.length > 0 ? [...(await this.#call(rest))] : []
    return known.map((answer) => answer ?? answers.shift())
  }

  #noteAnswers(requests: readonly Request[], answers: Answers, isAgain: boolean): Answers {
    for (const [index, answer] of answers.entries()) {
      const request = requests[index]
      if (request && answer) this.#plain.noteAnswer(request, answer, isAgain)
    }
    return answers
  }

  async names({ prefix, after, limit }: NameQuery): Promise<readonly string[]> {
    const sql = `call ${this.#prefix}list_locks_v1(unhex(?), unhex(?), ?)`
    const [rows] = (await this.#rows(sql, [hexOf(prefix), hexOf(after), String(limit)], {
      repeatable: true,
    })) as [{ name: string }[]]
    return rows.map(({ name }) => nameOf(name))
  }

  async findGrants(claims: readonly WaitingClaim[]): Promise<readonly FoundGrant[]> {
    const sql = `call ${this.#prefix}find_grants_v1(?)`
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
