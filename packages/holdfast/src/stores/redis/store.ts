/**
 * The Redis store: the grant rule in Lua, one script call for each tick (in a Cluster one for each
 * lock), grants pushed to waiters.
 */
import { afterTickOf, atTickEndOf, type Clock, type Random } from '../../clock/clock.js'
import type { TickQueue } from '../../collections/tick-queue.js'
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
  LockInfo,
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
import { readAdoption, readSeal, textOf } from './answers.js'
import { batchQueue, type BatchRequest } from './batches.js'
import type { Deployment } from './deployment.js'
import { explain, inDoubt, STORE_NAME } from './errors.js'
import { describeLocks, listLocks } from './inspect.js'
import { keyOf } from './keys.js'
import {
  PendingAttempt,
  PendingLine,
  PendingRenewal,
  PendingWithdrawal,
  RenewalRound,
  type AttemptContext,
} from './requests.js'
import { admin } from './scripts.generated.js'
import type { AdoptedByAnother, SealedRenewal, SealResult } from './redlock-seal.js'
import { NO_TERMS, TermsEncoder } from './terms-encoder.js'
import { LateRequests } from './late-requests.js'
import { GrantInbox } from './grant-inbox.js'

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'server',
  downgrade: true,
  adopt: true,
  steal: true,
  inspect: true,
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
  readonly #prefix: string
  readonly #deployment: Deployment
  readonly #inbox: GrantInbox
  readonly #requests: TickQueue<BatchRequest>
  /** For what counts only when replicas have it, if there is such a thing. */
  #replicated: TickQueue<BatchRequest> | undefined
  readonly #lateRequests: LateRequests
  readonly #encoder = new TermsEncoder()
  readonly #attempts: AttemptContext

  constructor(deployment: Deployment, { prefix, clock, random, replicated }: RedisStoreSettings) {
    this.#prefix = prefix
    this.#deployment = deployment
    this.#lateRequests = new LateRequests(clock)
    const inbox = new GrantInbox(
      (listener) => deployment.subscriptions(prefix, random.id(), listener),
      clock,
    )
    this.#inbox = inbox
    this.#attempts = {
      deployment,
      inbox,
      lateRequests: this.#lateRequests,
      withdraw: (claim) => this.withdraw(claim),
    }
    const settings = {
      prefix,
      oneLockACall: deployment.oneLockACall,
      subscriptions: inbox.subscriptions,
      atTickEnd: atTickEndOf(clock),
      afterTick: afterTickOf(clock),
    }
    const { run, runReplicated } = deployment
    this.#requests = batchQueue({ ...settings, run })
    if (replicated) this.#replicated = batchQueue({ ...settings, run: runReplicated })
  }

  attempt(claim: Claim, { enqueue, tokens }: AttemptOptions): Promise<AttemptResult> {
    if (this.#lateRequests.givenUp.has(claim.id)) return Promise.resolve({ outcome: 'withdrawn' })
    const terms = this.#encoder.attempt(claim, enqueue, tokens)
    const answer = new Promise<AttemptResult>((resolve, reject) => {
      this.#requests.add(new PendingAttempt(this.#attempts, claim, terms, tokens, resolve, reject))
    })
    return this.#replicated ? this.#confirmed(claim, answer) : answer
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
    const lateRequests = firm ? this.#lateRequests : undefined
    return new Promise((resolve, reject) => {
      this.#requests.add(new PendingWithdrawal(claim, terms, lateRequests, resolve, reject))
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
      await new Promise((resolve, reject) => {
        this.#requests.add(new PendingLine('t', claim, NO_TERMS, resolve, reject))
      })
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
    return new Promise((resolve, reject) => {
      const terms = this.#encoder.seal(token)
      const answered = (line: string): void => resolve(readSeal(line))
      this.#requests.add(new PendingLine('s', claim, terms, answered, reject))
    })
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    const reply = await this.#admin(claim.lock, 'downgrade', claim.id)
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

  async #adopt({ from, token, to }: Adoption): Promise<AdoptResult | AdoptedByAnother> {
    const { breaks } = this.#deployment
    // Until the answer, a withdrawal of the new claim has to refuse a request that comes late.
    this.#inbox.attemptSent(to.id)
    try {
      const words = [from.id, String(from.ttlMs), String(token), to.id, String(to.ttlMs)]
      const reply = await this.#admin(to.lock, 'adopt', ...words, JSON.stringify(to.owner))
      return readAdoption(textOf(reply), to)
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

  /**
   * Asks for the last token first: a steal that is sent again after a connection broke must not end
   * a later grant.
   */
  async steal(lock: string, { now, reason }: StealOptions): Promise<StealResult> {
    const lastToken = await this.#lastToken(lock)
    if (lastToken === undefined) return { holders: 0, freeInMs: 0 }
    const text = reason === undefined ? '' : JSON.stringify(reason)
    const words = ['steal', now ? '1' : '0', text, String(lastToken)]
    const [holders, freeInMs] = (await this.#admin(lock, ...words)) as unknown[]
    return { holders: Number(textOf(holders)), freeInMs: Number(textOf(freeInMs)) }
  }

  async inspect(query: InspectQuery): Promise<InspectPage> {
    if ('lock' in query) return { locks: await this.#describe([query.lock]), cursor: undefined }
    return listLocks(query, this.#prefix, {
      describe: (locks) => this.#describe(locks),
      keyPrefix: this.#deployment.keyPrefix,
      findKeys: (pattern) => this.#deployment.findKeys(pattern),
    })
  }

  close(): void {
    this.#lateRequests.close()
    this.#inbox.close()
    this.#deployment.close()
  }

  /** Resolves to undefined for an idle lock. */
  async #lastToken(lock: string): Promise<bigint | undefined> {
    try {
      const [info] = await this.#describe([lock])
      return info?.lastToken
    } catch (error) {
      throw explain(error, lock)
    }
  }

  async #describe(locks: readonly string[]): Promise<LockInfo[]> {
    if (this.#deployment.oneLockACall && locks.length > 1) {
      return (await Promise.all(locks.map((lock) => this.#describe([lock])))).flat()
    }
    return describeLocks(locks, (names) => {
      const keys = names.map((name) => keyOf(this.#prefix, name))
      return this.#run(keys, 'describe', String(keys.length))
    })
  }

  async #admin(lock: string, ...args: string[]): Promise<unknown> {
    try {
      return await this.#run([keyOf(this.#prefix, lock)], ...args)
    } catch (error) {
      throw explain(error, lock)
    }
  }

  #run(keys: readonly string[], ...args: string[]): Promise<unknown> {
    return this.#deployment.run(admin, keys, [this.#deployment.publish, ...args])
  }
}
