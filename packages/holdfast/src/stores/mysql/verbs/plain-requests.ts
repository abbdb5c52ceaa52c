/**
 * Requests as plain statements: an attempt on a lock that was free the last time, its release, and
 * both in one. MariaDB needs half the time of a procedure for them. What they leave undone, a
 * procedure does. MySQL does not show a statement whether a transaction is open, so there all
 * requests go to procedures.
 */
import type { Clock } from '../../../clock/clock.js'
import type { ClaimRef } from '../../../store/contract.js'
import { isRetake, type Answer, type Request } from '../../sql/wire.js'
import { WITHOUT_AUTOCOMMIT, type Changes, type MysqlConnection } from '../connection/clients.js'
import { AUTOCOMMIT, statusOf } from '../connection/outside-transaction.js'
import { isRefused, isUnknownStatement } from '../errors.js'
import { withPrefix } from '../rule/schema.js'
import { plainAttempt, plainRelease, plainRetake } from '../rule/scripts.generated.js'
import { isPlain, plainAnswer, plainValues, retakeValues } from '../wire.js'
import { PlainClaims } from './plain-claims.js'

/** Now and then another client frees the lock between the two. */
const MOST_IN_VAIN = 8

/** More than these take longer, one after the other, than a procedure. */
const MOST_STATEMENTS = 2

/** A plain statement, and the requests that it serves. */
export interface PlainStatement {
  readonly sql: string
  readonly values: string[]
  readonly requests: readonly Request[]
}

export class PlainRequests {
  readonly #claims: PlainClaims
  readonly #attempt: string
  readonly #release: string
  readonly #retakeSql: string
  /** Whether the server or the pool does not allow them. */
  #isOff = false
  #isChecked = false
  /**
   * How many in a row were refused, or were attempts that did nothing where a procedure then found
   * the lock free.
   */
  #inVain = 0

  constructor(prefix: string, clock: Clock) {
    this.#claims = new PlainClaims(clock)
    this.#attempt = withPrefix(plainAttempt, prefix)
    this.#release = withPrefix(plainRelease, prefix)
    this.#retakeSql = withPrefix(plainRetake, prefix)
  }

  /** Returns the answers to requests of claims that plain statements have released, if any. */
  known(requests: readonly Request[]): readonly (Answer | undefined)[] | undefined {
    if (!this.#claims.knowsReleases) return undefined
    const answers = requests.map((request) => this.#answerAfterRelease(request))
    return answers.some((answer) => answer !== undefined) ? answers : undefined
  }

  #answerAfterRelease(request: Request): Answer | undefined {
    const { verb } = request
    if (verb !== 'attempt' && verb !== 'withdraw') return undefined
    const claim = claimOf(request)
    if (verb === 'attempt')
      return this.#claims.isReleasing(claim) ? { outcome: 'withdrawn' } : undefined
    if (!this.#claims.isReleased(claim)) return undefined
    // A repeated withdrawal keeps the claim out for longer.
    this.#claims.noteRelease(claim)
    return { outcome: 'released' }
  }

  /**
   * Returns the plain statements that serve all of these requests. It is one for each request, or
   * one for a release and the next attempt for its lock. For many requests a procedure is faster,
   * so there are none. Their attempts are noted.
   */
  statementsFor(requests: readonly Request[]): PlainStatement[] {
    if (this.#isOff || requests.length > MOST_STATEMENTS) return []
    if (!requests.every((request) => this.#isServed(request))) return []
    const [one, other] = requests
    if (one && other && one.lock === other.lock)
      return isRetake(requests) ? [this.#retake(one, other)] : []
    return requests.map((request) => this.#statement(request))
  }

  #isServed(request: Request): boolean {
    if (!isPlain(request)) return false
    const claim = claimOf(request)
    return request.verb === 'withdraw'
      ? this.#claims.isGranted(claim)
      : this.#claims.isLikelyGranted(claim)
  }

  #statement(request: Request): PlainStatement {
    const sql = request.verb === 'attempt' ? this.#attempt : this.#release
    this.#begin(request)
    return { requests: [request], sql, values: plainValues(request) }
  }

  /** One statement for a release and the next attempt for its lock. */
  #retake(release: Request, attempt: Request): PlainStatement {
    this.#begin(release)
    this.#begin(attempt)
    const values = retakeValues(release, attempt)
    return { requests: [release, attempt], sql: this.#retakeSql, values }
  }

  #begin(request: Request): void {
    if (request.verb === 'attempt') this.#claims.noteAttempt(claimOf(request))
    else this.#claims.takeGrant(claimOf(request))
  }

  /** Whether sessions are known to commit each statement; undefined before the first plain one. */
  get isAllowed(): boolean | undefined {
    return this.#isOff ? false : this.#isChecked || undefined
  }

  /** Asks a session whether it commits each statement. */
  async check(connection: MysqlConnection): Promise<void> {
    this.#isChecked = true
    const status = (await statusOf(connection)) ?? 0
    this.#isOff = (status & AUTOCOMMIT) === 0
  }

  /**
   * Hears that the server has refused a statement. Returns whether a procedure continues.
   */
  refused(error: unknown): boolean {
    // The procedure meets the same failure, and knows what to do.
    if (!isRefused(error)) return false
    this.#inVain += 1
    if (isUnknownStatement(error) || this.#inVain >= MOST_IN_VAIN) this.#isOff = true
    return true
  }

  /**
   * Returns the answers of a statement that has done its work, and undefined for one that did
   * nothing.
   * @throws WITHOUT_AUTOCOMMIT on a connection that has to be left.
   */
  answersTo({ requests }: PlainStatement, changes: Changes): readonly Answer[] | undefined {
    if (changes.affectedRows === 1) return requests.map((request) => this.#done(request, changes))
    for (const { lock } of requests) this.#claims.noteLock(lock, false)
    if ((changes.serverStatus & AUTOCOMMIT) !== 0) return undefined
    this.#isOff = true
    throw WITHOUT_AUTOCOMMIT
  }

  #done(request: Request, changes: Changes): Answer {
    this.#inVain = 0
    if (request.verb === 'attempt') this.#claims.noteGrant(claimOf(request))
    else this.#claims.noteRelease(claimOf(request))
    return plainAnswer(request, changes)
  }

  /** Notes requests that leave for a procedure. */
  noteOthers(requests: readonly Request[]): void {
    if (this.#isOff) return
    for (const request of requests) {
      const { verb, lock } = request
      if (verb === 'attempt') this.#claims.noteAttempt(claimOf(request))
      // Such a verb moves the holder out of the row of the lock.
      else if (verb !== 'renew' && verb !== 'withdraw') this.#claims.noteLock(lock, false)
    }
  }

  /**
   * Hears the answer of a procedure.
   * @param tried the plain statement that had done nothing before, if any
   */
  noteAnswer(
    request: Request,
    { outcome, atOnce }: Answer,
    tried: PlainStatement | undefined,
  ): void {
    if (this.#isOff) return
    const { verb, lock } = request
    if (verb === 'withdraw') this.#claims.noteTombstone(claimOf(request))
    if (verb !== 'attempt') return
    const isFree = outcome === 'granted' && atOnce === true
    if (isFree) this.#claims.noteGrant(claimOf(request))
    if (!tried) this.#claims.noteLock(lock, isFree)
    // Something in this session keeps plain statements from what the procedure does. A release may
    // need the procedure for other reasons.
    else if (isFree && tried.requests.length === 1 && (this.#inVain += 1) >= MOST_IN_VAIN)
      this.#isOff = true
  }
}

/** Of an attempt or a withdrawal. */
function claimOf(request: Request): ClaimRef {
  return request as Request & ClaimRef
}
