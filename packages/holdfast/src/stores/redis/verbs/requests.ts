/**
 * What the verbs of this store share with those of a voter of Redlock. These are the requests of a
 * tick, those that may still arrive, and the errors.
 */
import { atTickEndOf, type Clock, type Random } from '../../../clock/clock.js'
import type { TickQueue } from '../../../collections/tick-queue.js'
import type { LockError } from '../../../errors.js'
import type {
  Adoption,
  AdoptResult,
  ClaimRef,
  RenewalListener,
  RenewResult,
} from '../../../store/contract.js'
import { PendingAnswer } from '../../../store/pending-answer.js'
import { AdminCalls } from './admin-calls.js'
import { lineOf, readAdoption, textOf } from '../wire/answers.js'
import { batchQueue, withdrawalCall, type BatchRequest, type Verb } from './batches.js'
import type { Deployment } from '../connection/deployment.js'
import { deploymentOf } from '../connection/open.js'
import { explain, isReadOnly, withRights } from '../errors.js'
import { LateRequests } from './late-requests.js'
import { LateWithdrawals } from './late-withdrawals.js'
import type { AdoptedByAnother, SealedRenewal } from '../wire/redlock-seal.js'
import { PendingRenewal, RenewalRound } from './renewal-round.js'
import { applyBatch } from '../rule/scripts.generated.js'
import { TermsEncoder, type EncodedTerms } from '../wire/terms-encoder.js'
import { accessOf, settingsOf, type RedisStoreOptions } from '../options.js'
import { WakeUpInbox } from '../wake-ups.js'

export interface RequestSettings {
  /** Stands before every key and channel. */
  readonly prefix: string
  readonly clock: Clock
  readonly random: Random
  /** A lease counts only when replicas have it. */
  readonly replicated: boolean
  /** Returns the token that Redlock proposes for new claims, in the place of a channel. */
  readonly propose?: (() => string) | undefined
}

/** A request whose answer is one line. */
class AskedRequest<T> extends PendingAnswer<T> implements BatchRequest {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly verb: Verb
  declare readonly claim: ClaimRef
  declare readonly terms: EncodedTerms
  declare private readonly requests: RedisRequests
  declare private readonly read: LineReader<T>
  declare private readonly breaks: number

  constructor(
    requests: RedisRequests,
    verb: Verb,
    claim: ClaimRef,
    terms: EncodedTerms,
    read: LineReader<T>,
  ) {
    super()
    this.verb = verb
    this.claim = claim
    this.terms = terms
    this.requests = requests
    this.read = read
    this.breaks = requests.deployment.breaks
  }

  done(error: LockError | undefined, reply?: unknown): void {
    const { requests } = this
    let answer: T
    try {
      if (error !== undefined) throw error
      answer = this.read(lineOf(reply), requests.deployment.breaks !== this.breaks)
    } catch (caught) {
      this.fail(requests.explain(caught, this.claim.lock))
      return
    }
    this.answer(answer)
  }
}

/** Reads the line that answers a request. */
type LineReader<T> = (line: string, mayBeSentTwice: boolean) => T

/**
 * Returns the requests to the server of a client.
 * @throws LockUsageError when the client is none that is known, or an option makes no sense.
 */
export function requestsOf(
  options: RedisStoreOptions,
  access = accessOf(options),
  propose?: () => string,
): RedisRequests {
  const settings = settingsOf(options)
  const replicated = settings.replicas.minReplicas > 0
  const deployment = deploymentOf(access, settings)
  return new RedisRequests(deployment, { ...settings, replicated, propose })
}

export class RedisRequests {
  readonly deployment: Deployment
  readonly admin: AdminCalls
  readonly inbox: WakeUpInbox
  readonly encoder = new TermsEncoder()
  /** The requests of this tick. */
  readonly batch: TickQueue<BatchRequest>
  /** For what counts only when replicas have it, if there is such a thing. */
  readonly replicated: TickQueue<BatchRequest> | undefined
  readonly lateRequests: LateRequests
  readonly lateWithdrawals: LateWithdrawals
  /** What stands before each key and channel. */
  readonly #start: string

  constructor(deployment: Deployment, settings: RequestSettings) {
    const { prefix, clock, random, replicated, propose } = settings
    this.deployment = deployment
    this.#start = deployment.keyPrefix + prefix
    this.admin = new AdminCalls(deployment, prefix, this.explain)
    this.lateRequests = new LateRequests(clock)
    this.inbox = new WakeUpInbox(
      (listener) => deployment.subscriptions(prefix, random.id(), listener),
      clock,
    )
    const batching = {
      prefix,
      oneLockACall: deployment.oneLockACall,
      // A claim of Redlock never waits at a server, so nothing is published.
      publishTo: propose ?? this.inbox.subscriptions.publishTo,
      atTickEnd: atTickEndOf(clock),
    }
    this.batch = batchQueue({ ...batching, send: deployment.send })
    this.lateWithdrawals = new LateWithdrawals(deployment, (claim) =>
      deployment.sendLate(applyBatch, ...withdrawalCall(batching, claim)),
    )
    if (replicated) this.replicated = batchQueue({ ...batching, send: deployment.sendReplicated })
  }

  /** Explains an error. The client leaves a server that refuses writes. */
  readonly explain = (caught: unknown, lock?: string): LockError => {
    const error = explain(caught, lock)
    return isReadOnly(error) ? this.deployment.readOnly(error) : withRights(error, this.#start)
  }

  readonly noteWritten = (): void => void (this.deployment.hasWritten = true)

  /** Sends a request with the others of this tick. Its answer is what `read` returns. */
  ask<T>(verb: Verb, claim: ClaimRef, terms: EncodedTerms, read: LineReader<T>): PendingAnswer<T> {
    const request = new AskedRequest(this, verb, claim, terms, read)
    this.batch.add(request)
    return request
  }

  /** Makes one promise for all of them: a process may hold ten thousand leases. */
  renew(
    renewals: readonly SealedRenewal[],
    report?: RenewalListener,
  ): Promise<readonly RenewResult[]> {
    if (renewals.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      const round = new RenewalRound(renewals.length, {
        lateRequests: this.lateRequests,
        explain: this.explain,
        onRenewed: this.noteWritten,
        resolve,
        reject,
        report,
      })
      const requests = this.replicated ?? this.batch
      for (let index = 0; index < renewals.length; index += 1) {
        const renewal = renewals[index] as SealedRenewal
        const terms = this.encoder.renewal(renewal)
        requests.add(new PendingRenewal(round, index, renewal, terms))
      }
    })
  }

  /** Adopts, and reports a loss to another adopter as such. */
  async adopt({ from, token, to, detached }: Adoption): Promise<AdoptResult | AdoptedByAnother> {
    const { breaks } = this.deployment
    // Until the answer, a withdrawal of the new claim has to refuse a request that comes late.
    this.inbox.attemptSent(to.id)
    try {
      const words = [from.id, String(from.ttlMs), String(token), to.id, String(to.ttlMs)]
      words.push(JSON.stringify(to.owner), detached ? '1' : '0')
      return readAdoption(textOf(await this.admin.call(to.lock, 'adopt', ...words)), to)
    } catch (error) {
      this.lateRequests.add(to)
      throw error
    } finally {
      this.inbox.attemptAnswered(to.id)
      // It may have been sent twice. A withdrawal of the new claim has to refuse the late one.
      if (this.deployment.breaks !== breaks) this.lateRequests.add(to)
    }
  }

  close(): void {
    this.lateRequests.close()
    this.inbox.close()
    this.deployment.close()
  }
}
