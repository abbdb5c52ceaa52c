/**
 * The Redlock store: a claim holds a lock when it holds it on a majority of independent nodes, each
 * a Redis store.
 *
 * Any two majorities have a node in common, and that node grants only one of two claims that
 * exclude each other. So all kinds that exclude two by two work here: mutexes, and readers and
 * writers. Permits do not. On five nodes, three claims of a semaphore with two permits can have a
 * majority each, while no node has granted more than two.
 *
 * The promise for tokens: as long as B's majority contains a node that sealed A's token and kept
 * it, B's token is another one. If A's acquire also returned before B's began, B's token is larger.
 */
import type { LockError } from '../../errors.js'
import { storeClosed } from '../../store/errors.js'
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  Adoption,
  AdoptResult,
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
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import { ClaimVote } from './votes/claim-vote.js'
import { noSemaphore, STORE_NAME } from './errors.js'
import { noMajority } from './nodes/no-majority.js'
import { WithdrawalRound, type WithdrawalAnswers } from './nodes/withdrawal-round.js'
import { inspectLocks, listNames } from './votes/inspect.js'
import { quorumOf, type Panel, type Voter } from './nodes/node.js'
import { poll, type Answers } from './votes/poll.js'
import { RenewalRound } from './votes/renewal-round.js'

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: false,
  kinds: ['mutex', 'readWriteLock'],
  fair: false,
  wakeUp: 'poll',
  expiry: 'server',
  adopt: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  // The requests to the nodes use up less than this.
  ttlRangeMs: [100, LONGEST_TTL_MS],
}

export class RedlockStore implements Store {
  readonly name = STORE_NAME
  readonly traits = TRAITS
  readonly #panel: Panel
  readonly #quorum: number
  readonly #votes = new Map<string, ClaimVote>()
  #closed = false

  constructor(panel: Panel) {
    this.#panel = panel
    this.#quorum = quorumOf(panel)
  }

  attempt(claim: Claim, _options: AttemptOptions): Promise<AttemptResult> {
    try {
      this.#assertOpen()
      assertKind(claim)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#voteOf(claim).attempt(claim)
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    this.#assertOpen()
    const { from, to, detached } = adoption
    assertKind(to)
    const result = await this.#voteOf(to).adopt(adoption)
    if (result.outcome === 'granted') {
      // Its votes are those of the new claim: it must not ask for one again.
      this.#forget(from.id)
    }
    // No holder of this process renews or releases a detached claim.
    if (result.outcome === 'lost' || detached) this.#votes.delete(to.id)
    return result
  }

  // oxlint-disable-next-line require-await -- so that a refusal is a rejection
  async renew(
    renewals: readonly Renewal[],
    report?: RenewalListener,
  ): Promise<readonly RenewResult[]> {
    this.#assertOpen()
    if (renewals.length === 0) return []
    const sealed = renewals.map((renewal) => ({
      ...renewal,
      token: this.#votes.get(renewal.id)?.token,
    }))
    for (const { id, isLast } of renewals) if (isLast === true) this.#forget(id)
    const round = new RenewalRound(this.#panel, sealed, {
      report,
      onRenewed: ({ id }, endMs) => this.#votes.get(id)?.renewed(endMs),
      onAnswer: ({ id }, node, result) => this.#restoreVote(id, node, result),
    })
    return round.run()
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    this.#assertOpen()
    const vote = this.#votes.get(claim.id)
    const restedOn = vote?.withdraw()
    try {
      const answers = await new WithdrawalRound(this.#panel, claim, restedOn).run()
      const outcome = outcomeOf(answers, vote !== undefined && !restedOn && !vote.adopts)
      if (!outcome) throw this.#unknown('the release', answers.failures, claim.lock)
      this.#votes.delete(claim.id)
      return outcome
    } catch (error) {
      // A repeated withdrawal counts the same nodes. After the TTL they have no vote any more.
      this.#panel.clock.timer(claim.ttlMs, () => this.#votes.delete(claim.id), true)
      throw error
    }
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    this.#assertOpen()
    const all = this.#panel.nodes.length
    const unacknowledged = new Set(this.#panel.nodes.keys())
    const answers = await this.#poll(
      async (node, index) => {
        const done = await node.downgrade(claim)
        // Also when it was decided without it.
        unacknowledged.delete(index)
        return done
      },
      (sofar) => sofar.count(Boolean) >= this.#quorum || sofar.count(isFalse) > all - this.#quorum,
    )
    // From the first node on that let readers in: the claim must not ask again for more than a
    // reader's weight.
    if (answers.count(Boolean) > 0) this.#votes.get(claim.id)?.downgraded(unacknowledged)
    if (answers.count(Boolean) >= this.#quorum) return true
    if (answers.count(isFalse) > all - this.#quorum) return false
    throw this.#unknown('the downgrade', answers.failures(this.#panel.nodeTimeoutMs), claim.lock)
  }

  /** There are no wake-ups: a waiter attempts again now and then. */
  watch(): Watch {
    return { ready: undefined, close: () => undefined }
  }

  async steal(lock: string, options: StealOptions): Promise<StealResult> {
    this.#assertOpen()
    // The nodes count votes. An inspection shows which of them make up leases.
    const [info] = await inspectLocks(this.#panel, [lock])
    const { claim } = options
    const found = info?.holders.filter(({ claimId }) => claim === undefined || claimId === claim)
    const holders = found?.length ?? 0
    if (claim !== undefined && holders === 0) return { holders, waiters: 0, freeInMs: 0 }
    const answers = await this.#poll(
      (node) => node.steal(lock, options),
      () => false,
    )
    if (answers.values.length < this.#quorum)
      throw this.#unknown('the stealing', answers.failures(this.#panel.nodeTimeoutMs), lock)
    const freeInMs = Math.max(...answers.values.map((answer) => answer.freeInMs ?? 0))
    return { holders, ...(claim === undefined ? {} : { waiters: 0 }), freeInMs }
  }

  // oxlint-disable-next-line require-await -- so that a refusal is a rejection
  async list(query: ListQuery): Promise<NamesPage> {
    this.#assertOpen()
    return listNames(this.#panel, query)
  }

  // oxlint-disable-next-line require-await -- so that a refusal is a rejection
  async inspect(locks: readonly string[]): Promise<LockInfo[]> {
    this.#assertOpen()
    return inspectLocks(this.#panel, locks)
  }

  async written(): Promise<void> {
    await Promise.all(this.#panel.nodes.map(async ({ store }) => store.written?.()))
  }

  async close(): Promise<void> {
    this.#closed = true
    // A node that answers too late for the decision may have a vote, or get one, and the client has
    // asked it to withdraw. If the process ended now, that vote would last until its TTL.
    const { nodes, clock, nodeTimeoutMs } = this.#panel
    await Promise.all(nodes.map(({ requests }) => requests.end(clock, nodeTimeoutMs)))
    for (const { withdrawals } of this.#panel.nodes) withdrawals.close()
    await Promise.all(this.#panel.nodes.map(async ({ store }) => store.close()))
  }

  #assertOpen(): void {
    if (this.#closed) throw storeClosed(STORE_NAME)
  }

  /** From now on only its TTL ends the lease. A node that lost its vote gets no other one. */
  #forget(claimId: string): void {
    this.#votes.get(claimId)?.withdraw()
    this.#votes.delete(claimId)
  }

  #voteOf(claim: Claim): ClaimVote {
    let vote = this.#votes.get(claim.id)
    if (!vote) {
      const made = new ClaimVote(claim, this.#panel, () => {
        if (this.#votes.get(claim.id) === made) this.#votes.delete(claim.id)
      })
      vote = made
      this.#votes.set(claim.id, vote)
    }
    return vote
  }

  /**
   * A node that came back without its data votes and seals again, so that nodes may be restarted
   * one after the other. A node with its data gets the downgrade again that it missed.
   */
  #restoreVote(claimId: string, node: number, result: RenewResult): void {
    const vote = this.#votes.get(claimId)
    if (result.outcome === 'lost' && result.reason === 'expired') vote?.restoreVote(node)
    if (result.outcome === 'renewed') void vote?.resendDowngrade(node)
  }

  #poll<T>(
    ask: (node: Voter, index: number) => MaybePromise<T>,
    enough: (answers: Answers<T>) => boolean,
  ): Promise<Answers<T>> {
    const { nodes, clock, nodeTimeoutMs } = this.#panel
    const calls = nodes.map(async ({ store }, index) => ask(store, index))
    return poll(calls, { clock, timeoutMs: nodeTimeoutMs, enough })
  }

  #unknown(what: string, failures: ReadonlyMap<number, LockError>, lock: string): LockError {
    return noMajority(what, this.#panel.nodes.length, failures, lock)
  }
}

/** @throws UnsupportedLockError for a semaphore */
function assertKind({ kind, lock }: Claim): void {
  if (!TRAITS.kinds.includes(kind)) throw noSemaphore(lock)
}

/**
 * Returns what became of a claim; undefined where that is unknown.
 * @param hadNoMajority its votes were never a grant, and their withdrawals are pending
 */
function outcomeOf(
  { isReleased, isAbsent }: WithdrawalAnswers,
  hadNoMajority: boolean,
): WithdrawOutcome | undefined {
  if (isReleased) return 'released'
  return isAbsent || hadNoMajority ? 'absent' : undefined
}

function isFalse(value: boolean): boolean {
  return !value
}
