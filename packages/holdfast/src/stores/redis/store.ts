/**
 * The Redis store: the grant rule in Lua, one script call for each tick (in a Cluster one for each
 * lock), grants pushed to waiters.
 */
import { atTickEndOf, type Clock, type Random } from '../../clock/clock.js'
import type { TickQueue } from '../../collections/tick-queue.js'
import type { LockError } from '../../errors.js'
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  AdoptResult,
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
  RenewalListener,
  RenewResult,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import { AdminCalls } from './admin-calls.js'
import {
  isRefusal,
  isWrite,
  lineOf,
  readAdoption,
  readAttempt,
  readOnce,
  readSeal,
  readWithdrawal,
  textOf,
} from './answers.js'
import { batchQueue, withdrawalCall, type BatchRequest, type Verb } from './batches.js'
import type { Deployment } from './deployment.js'
import { explain, inDoubt, isReadOnly, STORE_NAME, withRights } from './errors.js'
import { LateWithdrawals } from './late-withdrawals.js'
import { PendingRenewal, RenewalRound } from './renewal-round.js'
import type { AdoptedByAnother, SealedRenewal, SealResult } from './redlock-seal.js'
import { NO_TERMS, TermsEncoder, type EncodedTerms } from './terms-encoder.js'
import { LateRequests } from './late-requests.js'
import { applyBatch } from './rule/scripts.generated.js'
import { WakeUpInbox } from './wake-up-inbox.js'

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'server',
  adopt: true,
  ordered: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, LONGEST_TTL_MS],
}

export interface RedisSettings {
  /** Stands before every key and channel. */
  readonly prefix: string
  /** How long an answer may take, in milliseconds. */
  readonly requestTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
}

export interface RedisStoreSettings extends Pick<RedisSettings, 'prefix' | 'clock' | 'random'> {
  /** A lease counts only when replicas have it. */
  readonly replicated: boolean
}

export class RedisStore implements Store {
  readonly name = STORE_NAME
  readonly traits = TRAITS
  readonly #deployment: Deployment
  /** What stands before each key and channel. */
  readonly #start: string
  readonly #admin: AdminCalls
  readonly #inbox: WakeUpInbox
  readonly #requests: TickQueue<BatchRequest>
  /** For what counts only when replicas have it, if there is such a thing. */
  #replicated: TickQueue<BatchRequest> | undefined
  readonly #lateRequests: LateRequests
  readonly #lateWithdrawals: LateWithdrawals
  readonly #encoder = new TermsEncoder()

  constructor(deployment: Deployment, { prefix, clock, random, replicated }: RedisStoreSettings) {
    this.#deployment = deployment
    this.#start = deployment.keyPrefix + prefix
    this.#admin = new AdminCalls(deployment, prefix, this.#explain)
    this.#lateRequests = new LateRequests(clock)
    this.#inbox = new WakeUpInbox(
      (listener) => deployment.subscriptions(prefix, random.id(), listener),
      clock,
    )
    const settings = {
      prefix,
      oneLockACall: deployment.oneLockACall,
      publishTo: this.#inbox.subscriptions.publishTo,
      atTickEnd: atTickEndOf(clock),
    }
    this.#requests = batchQueue({ ...settings, send: deployment.send })
    this.#lateWithdrawals = new LateWithdrawals(deployment, (claim) =>
      deployment.sendLate(applyBatch, ...withdrawalCall(settings, claim)),
    )
    if (replicated) this.#replicated = batchQueue({ ...settings, send: deployment.sendReplicated })
  }

  attempt(claim: Claim, { enqueue, tokens }: AttemptOptions): Promise<AttemptResult> {
    if (this.#lateRequests.givenUp.has(claim.id)) return Promise.resolve({ outcome: 'withdrawn' })
    const { breaks } = this.#deployment
    const terms = this.#encoder.attempt(claim, enqueue, tokens)
    this.#lateWithdrawals.delete(claim.id)
    this.#inbox.attemptSent(claim.id)
    const answer = new Promise<AttemptResult>((resolve, reject) => {
      const done = (error: LockError | undefined, reply: unknown): void => {
        this.#inbox.attemptAnswered(claim.id)
        try {
          if (error !== undefined) throw error
          const line = lineOf(reply)
          if (this.#deployment.breaks !== breaks) this.#noteSentTwice(claim, line)
          const result = readAttempt(line, claim, tokens)
          if (isWrite(result)) this.#deployment.hasWritten = true
          resolve(result)
        } catch (caught) {
          const failure = this.#explain(caught, claim.lock)
          if (failure.code === 'STORE_UNAVAILABLE') this.#lateRequests.add(claim)
          reject(failure)
        }
      }
      this.#requests.add({ verb: 'a', claim, terms, done })
    })
    return this.#replicated ? this.#confirmed(claim, answer) : answer
  }

  /**
   * Notes that a connection broke while an attempt was in flight. The client library may have sent
   * the attempt twice, if the store did not.
   */
  #noteSentTwice(claim: Claim, line: string): void {
    this.#lateRequests.add(claim)
    // Its caller does not withdraw a claim that was refused. The first arrival may come last, when
    // the lock is free.
    if (isRefusal(line))
      void this.#lateRequests.withdrawInBackground(claim, () => this.withdraw(claim))
  }

  /** Makes one promise for all of them: a process may hold ten thousand leases. */
  renew(
    renewals: readonly SealedRenewal[],
    report?: RenewalListener,
  ): Promise<readonly RenewResult[]> {
    if (renewals.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      const round = new RenewalRound(renewals.length, {
        lateRequests: this.#lateRequests,
        explain: this.#explain,
        onRenewed: this.#noteWritten,
        resolve,
        reject,
        report,
      })
      const requests = this.#replicated ?? this.#requests
      for (let index = 0; index < renewals.length; index += 1) {
        const renewal = renewals[index] as SealedRenewal
        const terms = this.#encoder.renewal(renewal)
        requests.add(new PendingRenewal(round, index, renewal, terms))
      }
    })
  }

  /**
   * A grant counts when replicas have it. What makes sure of that is a renewal, which they have got
   * as well.
   */
  async #confirmed(claim: Claim, answer: Promise<AttemptResult>): Promise<AttemptResult> {
    const result = await answer
    if (result.outcome !== 'granted') return result
    const [renewed] = await this.renew([claim])
    if (renewed?.outcome === 'unknown') throw renewed.cause
    return renewed?.outcome === 'renewed' ? result : { outcome: 'withdrawn' }
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    const { id, ttlMs } = claim
    // An attempt that was answered cannot arrive any more. For any other, the server has to
    // remember the withdrawal until it has arrived.
    const firm = this.#inbox.hasAttemptInFlight(id) || this.#lateRequests.has(id)
    const terms = this.#encoder.withdrawal(ttlMs, firm)
    if (!firm) return this.#ask('w', claim, terms, readOnce)
    const answer = this.#ask('w', claim, terms, (line) => {
      this.#lateRequests.resolve(id)
      return readWithdrawal(line)
    })
    answer.then(
      () => this.#lateWithdrawals.delete(id),
      () => this.#lateWithdrawals.add({ lock: claim.lock, id, ttlMs }),
    )
    return answer
  }

  /** Explains an error. The client leaves a server that refuses writes. */
  readonly #explain = (caught: unknown, lock?: string): LockError => {
    const error = explain(caught, lock)
    return isReadOnly(error) ? this.#deployment.readOnly(error) : withRights(error, this.#start)
  }

  readonly written = (): Promise<void> | undefined => this.#deployment.written()

  readonly #noteWritten = (): void => void (this.#deployment.hasWritten = true)

  /** Sends a request with the others of this tick. Resolves to its answer as `read` returns it. */
  #ask<T>(
    verb: Verb,
    claim: ClaimRef,
    terms: EncodedTerms,
    read: (line: string, mayBeSentTwice: boolean) => T,
  ): Promise<T> {
    const { breaks } = this.#deployment
    return new Promise((resolve, reject) => {
      const done = (error: LockError | undefined, reply: unknown): void => {
        try {
          if (error !== undefined) throw error
          resolve(read(lineOf(reply), this.#deployment.breaks !== breaks))
        } catch (caught) {
          reject(this.#explain(caught, claim.lock))
        }
      }
      this.#requests.add({ verb, claim, terms, done })
    })
  }

  /**
   * Takes a vote back: the claim does not hold the lock any more, and may be attempted again. Only
   * for a claim without attempts in flight, since nothing refuses one that comes late.
   * Rejects where one of them may still come, or this request itself, which would undo a later
   * vote: such a claim has to be withdrawn.
   */
  async retract(claim: ClaimRef): Promise<void> {
    if (this.#lateRequests.has(claim.id)) throw inDoubt(claim.lock)
    const { breaks } = this.#deployment
    try {
      await this.#ask('t', claim, NO_TERMS, String)
    } catch (error) {
      // The withdrawal that follows has to refuse the claim for as long as this request may arrive.
      this.#lateRequests.add(claim)
      throw error
    }
    if (this.#deployment.breaks === breaks) return
    this.#lateRequests.add(claim)
    throw inDoubt(claim.lock)
  }

  /**
   * Gives a claim that holds the lock here a token that its client chose among the votes of several
   * servers. May be repeated, and may arrive late: it never makes a grant.
   */
  seal(claim: ClaimRef, token: bigint): Promise<SealResult> {
    return this.#ask('s', claim, this.#encoder.seal(token), readSeal)
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    const reply = await this.#admin.call(claim.lock, 'downgrade', claim.id)
    return textOf(reply) === '1'
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    const result = await this.#adopt(adoption)
    return result.outcome === 'adopted' ? { outcome: 'lost', reason: 'expired' } : result
  }

  /** Adopts, and reports a loss to another adopter as such. */
  adoptVote(adoption: Adoption): Promise<AdoptResult | AdoptedByAnother> {
    // The request that exports the lease may still be on its way to this server. A withdrawal of
    // the exported claim has to refuse it.
    this.#lateRequests.add(adoption.from)
    return this.#adopt(adoption)
  }

  async #adopt({ from, token, to, detached }: Adoption): Promise<AdoptResult | AdoptedByAnother> {
    const { breaks } = this.#deployment
    // Until the answer, a withdrawal of the new claim has to refuse a request that comes late.
    this.#inbox.attemptSent(to.id)
    try {
      const words = [from.id, String(from.ttlMs), String(token), to.id, String(to.ttlMs)]
      words.push(JSON.stringify(to.owner), detached ? '1' : '0')
      return readAdoption(textOf(await this.#admin.call(to.lock, 'adopt', ...words)), to)
    } catch (error) {
      this.#lateRequests.add(to)
      throw error
    } finally {
      this.#inbox.attemptAnswered(to.id)
      // It may have been sent twice. A withdrawal of the new claim has to refuse the late one.
      if (this.#deployment.breaks !== breaks) this.#lateRequests.add(to)
    }
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    // A grant that was pushed is no more than a hint where replicas have to confirm it: the attempt
    // that follows does.
    return this.#inbox.watch(claim, this.#replicated ? () => wake() : wake)
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#admin.steal(lock, options)
  }

  inspect(query: InspectQuery): Promise<InspectPage> {
    return this.#admin.inspect(query)
  }

  close(): void {
    this.#lateRequests.close()
    this.#inbox.close()
    this.#deployment.close()
  }
}
