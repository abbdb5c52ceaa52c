/**
 * A batch on its way to the database: as plain statements, or in a call of a procedure. That also
 * does what plain statements leave undone.
 */
import type { Done, Task, TimeLimit } from '../../sql/connection/statements.js'
import type { Batch } from '../../sql/connection/database.js'
import {
  areRepeatable,
  areWrites,
  isRetake,
  isTrue,
  type Answer,
  type Request,
} from '../../sql/wire.js'
import {
  statement,
  type Changes,
  type Connections,
  type MysqlConnection,
} from '../connection/clients.js'
import { borrow, change, tell } from '../connection/loans.js'
import { answersOf, asText, callOf } from '../wire.js'
import type { PlainRequests, PlainStatement } from './plain-requests.js'

/** What a batch is sent through. */
export interface BatchSender {
  readonly pool: Connections
  readonly prefix: string
  readonly plain: PlainRequests
}

export class SentBatch implements Task<unknown> {
  readonly #sender: BatchSender
  readonly #batch: Batch
  readonly #answers = new Map<Request, Answer>()
  /** Whether the batch has left. */
  #begun = false
  /** The plain statements to send. */
  #statements: PlainStatement[] = []
  /** The plain statement that did nothing. */
  #tried: PlainStatement | undefined
  /** How often a procedure was called with an attempt. */
  #attemptCalls = 0
  /** The plain statement that may have done its work unheard. */
  #inDoubt: PlainStatement | undefined

  constructor(sender: BatchSender, batch: Batch) {
    this.#sender = sender
    this.#batch = batch
  }

  get repeatable(): boolean {
    return areRepeatable(this.#batch.requests)
  }

  get writes(): boolean {
    return areWrites(this.#batch.requests)
  }

  send(limit: TimeLimit, ended: Done<unknown>): void {
    borrow(this.#sender.pool, limit, this.#use, ended)
  }

  resolve(): void {
    this.#judgeDoubt()
    const { requests } = this.#batch
    this.#batch.answer(requests.map((request) => this.#answers.get(request)))
  }

  reject(error: unknown): void {
    this.#batch.fail(error)
  }

  unheard(): void {
    this.#batch.unheard()
  }

  readonly #use = (connection: MysqlConnection, ended: Done<unknown>): void => {
    let forgetEnd: (() => void) | undefined
    let hasLeft = false
    this.#batch.leave(() => {
      hasLeft = true
      forgetEnd?.()
      try {
        this.#sendThrough(connection, ended)
      } catch (error) {
        ended(error)
      }
    })
    if (!hasLeft) forgetEnd = connection.beforeEnd?.(() => this.#leaveBeforeEnd())
  }

  /** After this the connection takes no second statement. */
  #leaveBeforeEnd(): void {
    this.#begun = true
    this.#batch.leaveNow()
  }

  #sendThrough(connection: MysqlConnection, ended: Done<unknown>): void {
    const { plain } = this.#sender
    if (this.#batch.isAtExit) return this.#callAtExit(connection, ended)
    if (!this.#begun) {
      this.#begun = true
      this.#noteKnownAnswers()
      this.#statements = plain.statementsFor(this.#unanswered())
    }
    const [next] = this.#statements
    if (!next || plain.isAllowed === false) return this.#call(connection, ended)
    if (plain.isAllowed === true) return this.#sendPlainly(connection, next, ended)
    plain.check(connection).then(() => this.#sendThrough(connection, ended), ended)
  }

  /** Answers what needs no database: requests of claims that plain statements have released. */
  #noteKnownAnswers(): void {
    const { requests } = this.#batch
    this.#sender.plain
      .known(requests)
      ?.forEach((answer, index) => answer && this.#answers.set(requests[index] as Request, answer))
  }

  #unanswered(): readonly Request[] {
    const { requests } = this.#batch
    return this.#answers.size === 0
      ? requests
      : requests.filter((request) => !this.#answers.has(request))
  }

  #sendPlainly(connection: MysqlConnection, next: PlainStatement, ended: Done<unknown>): void {
    const { plain } = this.#sender
    const rest = this.#statements.slice(1)
    // Unless it does its work, a procedure serves all of the others.
    this.#statements = []
    this.#inDoubt = next
    change(connection, next.sql, next.values, (error, changes) => {
      if (error !== undefined && !plain.refused(error)) return ended(error)
      this.#inDoubt = undefined
      try {
        const answers = error === undefined && plain.answersTo(next, changes as Changes)
        if (answers) {
          answers.forEach((answer, at) => this.#answers.set(next.requests[at] as Request, answer))
          this.#statements = rest
          return this.#sendThrough(connection, ended)
        }
      } catch (caught) {
        return ended(caught)
      }
      if (error === undefined) this.#tried = next
      this.#call(connection, ended)
    })
  }

  /**
   * Calls the procedure for all requests without an answer. A release goes before the next attempt
   * for its lock: together they would move the next holder out of the row, time and again.
   */
  #call(connection: MysqlConnection, ended: Done<unknown>): void {
    const unanswered = this.#unanswered()
    if (unanswered.length === 0) return ended(undefined)
    const requests = isRetake(unanswered) ? unanswered.slice(0, 1) : unanswered
    const { prefix, plain } = this.#sender
    const call = callOf(prefix, requests)
    plain.noteOthers(requests)
    if (requests.some(({ verb }) => verb === 'attempt')) this.#attemptCalls += 1
    tell(connection, statement(call.sql, call.values), (error, rows) => {
      if (error !== undefined) return ended(error)
      try {
        const answers = answersOf(rows, call, requests)
        answers.forEach((answer, at) => answer && this.#hear(requests[at] as Request, answer))
      } catch (caught) {
        return ended(caught)
      }
      const isDone = requests === unanswered || !this.#answers.has(requests[0] as Request)
      if (isDone) ended(undefined)
      else this.#call(connection, ended)
    })
  }

  /** As text: to prepare a statement takes a round trip. */
  #callAtExit(connection: MysqlConnection, ended: Done<unknown>): void {
    const call = callOf(this.#sender.prefix, this.#batch.requests)
    const text = asText(call)
    if (text === undefined) this.#call(connection, ended)
    else connection.query(statement(text)).then(() => ended(undefined), ended)
  }

  #hear(request: Request, answer: Answer): void {
    this.#answers.set(request, answer)
    const isAgain = this.#tried?.requests.includes(request) === true
    this.#sender.plain.noteAnswer(request, answer, isAgain ? this.#tried : undefined)
  }

  /**
   * Corrects the answer to a release that a plain statement may have done unheard. Its claim is
   * then gone without a tombstone. If that statement has granted the next claim, it has released
   * this one.
   */
  #judgeDoubt(): void {
    if (!this.#inDoubt) return
    const [release, attempt] = this.#inDoubt.requests
    if (!release || this.#answers.get(release)?.['outcome'] !== 'absent') return
    // A second call may find what the first one granted.
    const isDone =
      attempt && this.#attemptCalls === 1 && isTrue(this.#answers.get(attempt)?.['existing'])
    this.#answers.set(release, { outcome: isDone ? 'released' : 'unknown' })
  }
}
