/**
 * The store over a database, as PostgreSQL and MySQL share it. The grant rule runs in the database.
 * The store turns verbs into requests and passes wake-ups to waiters.
 */
import type { Timer } from '../../clock/clock.js'
import { DEFAULT_POLL_RANGE_MS, LONGEST_TTL_MS } from '../../store/contract.js'
import type {
  Adoption,
  AdoptResult,
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  PushedGrant,
  TransactionGuard,
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
import { renewEach } from '../../store/renew-each.js'
import { Batches } from './verbs/batches.js'
import type { Database } from './connection/database.js'
import * as requests from './wire.js'
import type { Answer } from './wire.js'

const TRAITS: Traits = {
  fencing: true,
  tokenBlocks: true,
  kinds: ['mutex', 'readWriteLock', 'semaphore'],
  fair: true,
  wakeUp: 'push',
  expiry: 'server',
  adopt: true,
  // A claim is held back behind an open release of its lock, or travels with it.
  ordered: true,
  pollRangeMs: DEFAULT_POLL_RANGE_MS,
  ttlRangeMs: [1, LONGEST_TTL_MS],
}

const LARGEST_TOKEN = 2n ** 63n - 1n

/** How long after its last waiter a client stops listening, in milliseconds. */
const UNLISTEN_AFTER_MS = 10_000

interface Watcher {
  readonly lock: string
  readonly wake: WakeListener
}

/** A claim whose grant may be announced before its place in the queue. */
interface UnheardClaim {
  readonly lock: string
  isGranted: boolean
}

export class SqlStore implements Store {
  readonly name: string
  readonly traits = TRAITS
  readonly transactionGuard: TransactionGuard
  declare readonly flush?: () => void
  readonly #database: Database
  readonly #batches: Batches
  readonly #watchers = new Map<string, Watcher>()
  /** Claims whose attempt is not answered, or with a place in the queue. None is watched yet. */
  readonly #unheard = new Map<string, UnheardClaim>()
  /** Whether a search for grants is on its way, and whether another one has to follow. */
  #grantsSearched = false
  #searchesAgain = false
  #listening: Promise<void> | undefined
  #listens = false
  #unlistenTimer: Timer | undefined

  /** One function for all releases. */
  readonly #withdrawn = (answer: Answer): WithdrawOutcome =>
    requests.withdrawOutcome(answer, this.name)

  constructor(database: Database) {
    this.name = database.name
    this.#database = database
    // The end of a pool waits for the connection that listens.
    const batches = new Batches(database, () => this.#unlisten())
    this.#batches = batches
    if (database.lends) this.flush = () => batches.flush()
    this.transactionGuard = {
      ...database.transactionGuard,
      prepare: ({ lock, id }) => this.#batches.send({ verb: 'guard', lock, id }, requests.isDone),
    }
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const request = requests.attemptRequest(claim, options, this.#database.channel)
    const isHeartbeat = this.#watchers.has(claim.id)
    if (!isHeartbeat) this.#unheard.set(claim.id, { lock: claim.lock, isGranted: false })
    return this.#batches.send(
      request,
      (answer) => {
        if (answer['outcome'] !== 'waiting') this.#unheard.delete(claim.id)
        return requests.attemptResult(answer, claim, this.name)
      },
      isHeartbeat ? undefined : claim.lock,
    )
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const renewOne = (renewal: Renewal): Promise<RenewResult> =>
      this.#batches.send(requests.renewRequest(renewal), requests.renewResult)
    return renewEach(renewals, renewOne, report)
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    if (this.#unheard.delete(claim.id)) this.#batches.giveUp(claim)
    return this.#batches.send(requests.withdrawRequest(claim), this.#withdrawn)
  }

  noteOpenRelease(lock: string): Promise<void> | undefined {
    return this.#batches.noteOpenRelease(lock)
  }

  written(): Promise<void> | undefined {
    return this.#database.written?.()
  }

  downgrade({ lock, id }: ClaimRef): Promise<boolean> {
    return this.#batches.send({ verb: 'downgrade', lock, id }, requests.isDone)
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    // The database has no larger number, so no lease has this token.
    if (adoption.token > LARGEST_TOKEN) return { outcome: 'lost', reason: 'expired' }
    return this.#batches.send(requests.adoptRequest(adoption), (answer) =>
      requests.adoptResult(answer, adoption.to.lock, this.name),
    )
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#batches.send(requests.stealRequest(lock, options), requests.stealResult)
  }

  /** The first waiter opens the connection that listens. */
  watch(claim: Claim, wake: WakeListener): Watch {
    this.#watchers.set(claim.id, { lock: claim.lock, wake })
    this.#unlistenTimer?.cancel()
    const isGranted = this.#unheard.get(claim.id)?.isGranted === true
    this.#unheard.delete(claim.id)
    // It asks again, since the message may be older than its time limits allow.
    if (isGranted) queueMicrotask(() => this.#watchers.get(claim.id)?.wake())
    return {
      ready: this.#listens ? undefined : this.#listen(),
      close: () => {
        if (this.#watchers.delete(claim.id) && this.#watchers.size === 0) this.#unlistenSoon()
      },
    }
  }

  async list({ prefix, cursor = '', limit }: ListQuery): Promise<NamesPage> {
    const names = await this.#database.names({ prefix, after: cursor, limit })
    return { names, cursor: names.length < limit ? undefined : names.at(-1) }
  }

  async inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    const found = await Promise.all(
      locks.map((lock) =>
        this.#batches.send(requests.inspectRequest(lock, waitersUpTo), (answer) =>
          requests.lockInfo(lock, answer),
        ),
      ),
    )
    return found.filter((info) => info !== undefined)
  }

  async close(): Promise<void> {
    this.#watchers.clear()
    this.#unheard.clear()
    this.#unlistenTimer?.cancel()
    this.#batches.close()
    await this.#database.close()
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#database
      .listen({
        onGrant: (claimId, grant) => this.#tell(claimId, grant),
        onSomeGrant: () => void this.#findGrants(),
        onHint: () => this.#wakeAll(),
      })
      .then(
        () => void (this.#listens = true),
        (error: unknown) => {
          // Waiters ask again once a second, until the next waiter tries to listen again.
          this.#listening = undefined
          throw error
        },
      )
    return this.#listening
  }

  /** The message may arrive before the answer to the attempt, on another connection. */
  #tell(claimId: string, grant: PushedGrant): void {
    const watcher = this.#watchers.get(claimId)
    if (watcher) return watcher.wake(grant)
    const unheard = this.#unheard.get(claimId)
    if (unheard) unheard.isGranted = true
  }

  #wakeAll(): void {
    for (const claim of this.#unheard.values()) claim.isGranted = true
    for (const { wake } of [...this.#watchers.values()]) wake()
  }

  /** One search at a time: grants that come during one are found by the next, all together. */
  async #findGrants(): Promise<void> {
    if (this.#grantsSearched) {
      this.#searchesAgain = true
      return
    }
    this.#grantsSearched = true
    try {
      do {
        this.#searchesAgain = false
        const claims = [...this.#watchers, ...this.#unheard].map(([id, { lock }]) => ({ id, lock }))
        const found = (await this.#database.findGrants?.(claims)) ?? []
        for (const { id, grant } of found) this.#tell(id, grant)
      } while (this.#searchesAgain)
    } catch {
      this.#wakeAll()
    } finally {
      this.#grantsSearched = false
    }
  }

  /** Stops listening later, also after a failed start, which may have left a connection open. */
  #unlistenSoon(): void {
    this.#unlistenTimer?.cancel()
    this.#unlistenTimer = this.#database.clock.timer(
      UNLISTEN_AFTER_MS,
      () => this.#unlisten(),
      true,
    )
  }

  #unlisten(): void {
    this.#unlistenTimer?.cancel()
    this.#listening = undefined
    this.#listens = false
    this.#database.unlisten().catch(() => undefined) // a broken connection is closed as well
  }
}
