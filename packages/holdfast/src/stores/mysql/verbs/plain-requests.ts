/**
 * Requests as plain statements: an attempt on a lock that was free the last time, and the release
 * of such a claim. MariaDB needs half the time of a procedure for them. What they leave undone, a
 * procedure does. MySQL does not show a statement whether a transaction is open, so there all
 * requests go to procedures.
 */
import type { Clock } from '../../../clock/clock.js'
import { StoreUnavailableError } from '../../../errors.js'
import type { ClaimRef } from '../../../store/contract.js'
import type { Answer, Request } from '../../sql/wire.js'
import {
  statement,
  WITHOUT_AUTOCOMMIT,
  type Changes,
  type MysqlConnection,
} from '../connection/clients.js'
import { AUTOCOMMIT, statusOf } from '../connection/outside-transaction.js'
import { isRefused, isUnknownStatement } from '../errors.js'
import { withPrefix } from '../rule/schema.js'
import { plainAttempt, plainRelease } from '../rule/scripts.generated.js'
import { isPlain, plainAnswer, plainValues } from '../wire.js'
import { PlainClaims } from './plain-claims.js'

/** Now and then another client frees the lock between the two. */
const MOST_IN_VAIN = 8

export class PlainRequests {
  readonly #claims: PlainClaims
  readonly #attempt: string
  readonly #release: string
  /** Whether the server or the pool does not allow them. */
  #isOff = false
  #isChecked = false
  /** How many attempts in a row did nothing where a procedure then found the lock free. */
  #inVain = 0

  constructor(prefix: string, clock: Clock) {
    this.#claims = new PlainClaims(clock)
    this.#attempt = withPrefix(plainAttempt, prefix)
    this.#release = withPrefix(plainRelease, prefix)
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
    if (!this.#claims.isReleased(claim)) return undefined
    if (verb === 'attempt') return { outcome: 'withdrawn' }
    // A repeated withdrawal keeps the claim out for longer.
    this.#claims.noteRelease(claim)
    return { outcome: 'released' }
  }

  /** Whether to send a request as a plain statement. Its attempt is noted, if so. */
  begins(request: Request): boolean {
    if (this.#isOff || !isPlain(request)) return false
    const claim = claimOf(request)
    if (request.verb === 'withdraw') return this.#claims.takeGrant(claim)
    if (!this.#claims.isLikelyGranted(claim)) return false
    this.#claims.noteAttempt(claim, true)
    return true
  }

  /** Whether a session commits each statement. Asked once, before the first plain one. */
  async isAllowed(connection: MysqlConnection): Promise<boolean> {
    if (this.#isChecked || this.#isOff) return !this.#isOff
    this.#isChecked = true
    const status = (await statusOf(connection)) ?? 0
    this.#isOff = (status & AUTOCOMMIT) === 0
    return !this.#isOff
  }

  /**
   * Resolves to undefined when the server has refused the statement. Rejects with
   * `WITHOUT_AUTOCOMMIT` on a connection that has to be left.
   */
  async send(request: Request, connection: MysqlConnection): Promise<Changes | undefined> {
    const sql = request.verb === 'attempt' ? this.#attempt : this.#release
    let changes: Changes
    try {
      const [header] = await connection.execute(statement(sql, plainValues(request)))
      changes = header as Changes
    } catch (error) {
      // The procedure meets the same failure, and knows what to do.
      if (!isRefused(error)) throw error
      if (isUnknownStatement(error)) this.#isOff = true
      return undefined
    }
    if (changes.affectedRows === 1) return changes
    this.#claims.noteLock(request.lock, false)
    if ((changes.serverStatus & AUTOCOMMIT) !== 0) return changes
    this.#isOff = true
    throw WITHOUT_AUTOCOMMIT
  }

  /** The statement has done what it was asked for. */
  done(request: Request, changes: Changes): Answer {
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
      if (verb === 'attempt') this.#claims.noteAttempt(claimOf(request), false)
      // Such a verb moves the holder out of the row of the lock.
      else if (verb !== 'renew' && verb !== 'withdraw') this.#claims.noteLock(lock, false)
    }
  }

  /**
   * Hears the answer of a procedure.
   * @param isAgain whether a plain statement had done nothing
   */
  noteAnswer(request: Request, { outcome, atOnce }: Answer, isAgain: boolean): void {
    if (this.#isOff) return
    const { verb, lock } = request
    if (verb === 'withdraw') this.#claims.noteTombstone(claimOf(request))
    if (verb !== 'attempt') return
    const isFree = outcome === 'granted' && atOnce === true
    if (!isAgain) this.#claims.noteLock(lock, isFree)
    // Something in this session keeps plain statements from what the procedure does.
    else if (isFree && (this.#inVain += 1) >= MOST_IN_VAIN) this.#isOff = true
  }
}

function claimOf({ lock, id, ttlMs }: Request): ClaimRef {
  return { lock, id: String(id), ttlMs: Number(ttlMs) }
}

/** Returns the error of a release that may have been done unheard, and found no lease later. */
export function unknownRelease(): StoreUnavailableError {
  return new StoreUnavailableError(
    'The connection failed under a release, and the database has no lease any more. It was released or had ended.',
    { store: 'mysql' },
  )
}
