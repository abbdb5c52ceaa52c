/**
 * The Redis store: the grant rule in Lua, one script call for each tick (in a Cluster one for each
 * lock), grants pushed to waiters.
 */
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  AdoptResult,
  Adoption,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  ListQuery,
  LockInfo,
  NamesPage,
  Renewal,
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
import { isRefusal, readOnce, readWithdrawal, textOf } from './wire/answers.js'
import { STORE_NAME } from './errors.js'
import { AttemptRequest } from './verbs/attempt-request.js'
import type { RedisRequests } from './verbs/requests.js'

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

/** Each request over HTTP is billed. So waiters that hear of their grant seldom ask again. */
const SUBSCRIBED_HEARTBEAT_MS = 7000
const POLLING_HEARTBEAT_MS = 2000

/** @param subscribes whether waiters hear of their grants */
export function restTraits(subscribes: boolean): Traits {
  // Requests overtake each other.
  const traits = { ...TRAITS, ordered: false, pollRangeMs: [100, POLLING_HEARTBEAT_MS] as const }
  if (!subscribes) return { ...traits, wakeUp: 'poll', heartbeatMs: POLLING_HEARTBEAT_MS }
  return { ...traits, heartbeatMs: SUBSCRIBED_HEARTBEAT_MS }
}

const NO_WATCH: Watch = { ready: undefined, close: () => undefined }

export class RedisStore implements Store {
  readonly name = STORE_NAME
  readonly traits: Traits
  protected readonly requests: RedisRequests
  declare readonly flush?: () => void

  constructor(requests: RedisRequests, traits = TRAITS) {
    this.requests = requests
    this.traits = traits
    if (requests.deployment.writesAtOnce === true) this.flush = () => requests.batch.flush()
  }

  attempt(claim: Claim, { enqueue, tokens }: AttemptOptions): Promise<AttemptResult> {
    const { requests } = this
    if (requests.lateRequests.beingWithdrawn.has(claim.id))
      return Promise.resolve({ outcome: 'withdrawn' })
    const terms = requests.encoder.attempt(claim, enqueue, tokens)
    requests.lateWithdrawals.delete(claim.id)
    requests.inbox.attemptSent(claim.id)
    const answer = new AttemptRequest(requests, claim, terms, tokens, this.#onSentTwice)
    requests.batch.add(answer)
    return requests.replicated ? this.#confirmed(claim, answer) : answer
  }

  /**
   * Notes that a connection broke while an attempt was in flight. The client library may have sent
   * the attempt twice, if the store did not.
   */
  readonly #onSentTwice = (claim: Claim, line: string): void => {
    const { lateRequests } = this.requests
    lateRequests.add(claim)
    // Its caller does not withdraw a claim that was refused. The first arrival may come last, when
    // the lock is free.
    if (isRefusal(line)) void lateRequests.withdrawInBackground(claim, () => this.withdraw(claim))
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    return this.requests.renew(renewals, report)
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
    const { inbox, lateRequests, lateWithdrawals } = this.requests
    const { id, ttlMs } = claim
    // An attempt that was answered cannot arrive any more. For any other, the server has to
    // remember the withdrawal until it has arrived.
    const firm = inbox.hasAttemptInFlight(id) || lateRequests.inDoubt.has(id)
    const terms = this.requests.encoder.withdrawal(ttlMs, firm)
    if (!firm) return this.requests.ask('w', claim, terms, readOnce)
    const answer = this.requests.ask('w', claim, terms, (line) => {
      // It has a tombstone now: a late request of it is refused.
      lateRequests.inDoubt.delete(id)
      return readWithdrawal(line)
    })
    answer.then(
      () => lateWithdrawals.delete(id),
      () => lateWithdrawals.add({ lock: claim.lock, id, ttlMs }),
    )
    return answer
  }

  readonly written = (): Promise<void> | undefined => this.requests.deployment.written()

  async downgrade(claim: ClaimRef): Promise<boolean> {
    const reply = await this.requests.admin.call(claim.lock, 'downgrade', claim.id)
    return textOf(reply) === '1'
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    const result = await this.requests.adopt(adoption)
    return result.outcome === 'adopted' ? { outcome: 'lost', reason: 'expired' } : result
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    if (this.traits.wakeUp === 'poll') return NO_WATCH
    // A grant that was pushed is no more than a hint where replicas have to confirm it: the attempt
    // that follows does.
    return this.requests.inbox.watch(claim, this.requests.replicated ? () => wake() : wake)
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.requests.admin.steal(lock, options)
  }

  list(query: ListQuery): Promise<NamesPage> {
    return this.requests.admin.list(query)
  }

  inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<readonly LockInfo[]> {
    return this.requests.admin.inspect(locks, waitersUpTo)
  }

  close(): void {
    this.requests.close()
  }
}
