/**
 * A store over a service where position is the grant: the recipe of etcd and ZooKeeper, behind the
 * contract.
 */
import { systemClock, type Clock } from '../../clock/clock.js'
import { UnsupportedLockError } from '../../errors.js'
import { DEFAULT_POLL_RANGE_MS } from '../../store/contract.js'
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
import { Administration } from './verbs/administration.js'
import { AttemptHandler } from './verbs/attempt-handler.js'
import { StoreContext } from './queue/context.js'
import type { ServiceSession, CoordinationService } from './connection/service.js'
import { EntryRenewer } from './verbs/entry-renewer.js'
import { LeaseAdopter } from './verbs/lease-adopter.js'
import { QueueWaiter } from './queue/queue-waiter.js'
import { ClaimWithdrawer } from './verbs/claim-withdrawer.js'

export interface CoordinationStoreOptions {
  readonly name: string
  /** The range of TTLs, in milliseconds. */
  readonly ttlRangeMs: readonly [number, number]
  readonly clock?: Clock | undefined
}

export class CoordinationStore<S extends ServiceSession> implements Store {
  readonly name: string
  readonly traits: Traits
  readonly #context: StoreContext<S>
  readonly #waiting: QueueWaiter<S>
  readonly #attempting: AttemptHandler<S>
  readonly #withdrawing: ClaimWithdrawer<S>
  readonly #adopting: LeaseAdopter<S>
  readonly #renewing: EntryRenewer<S>
  readonly #administration: Administration<S>

  constructor(
    service: CoordinationService<S>,
    { name, ttlRangeMs, clock = systemClock }: CoordinationStoreOptions,
  ) {
    this.name = name
    this.traits = {
      fencing: true,
      tokenBlocks: true,
      kinds: ['mutex', 'readWriteLock', 'semaphore'],
      fair: true,
      wakeUp: 'push',
      expiry: 'session',
      adopt: service.adopts,
      ...(service.stealReasonOf ? {} : { forgetsSteals: true }),
      ordered: service.keepsOrder,
      pollRangeMs: DEFAULT_POLL_RANGE_MS,
      ttlRangeMs,
    }
    this.#context = new StoreContext(name, service, clock)
    this.#waiting = new QueueWaiter(this.#context)
    this.#attempting = new AttemptHandler(this.#context, this.#waiting)
    this.#withdrawing = new ClaimWithdrawer(this.#context)
    this.#adopting = new LeaseAdopter(this.#context)
    this.#renewing = new EntryRenewer(this.#context, (renewal) =>
      this.#adopting.renewDetached(renewal),
    )
    this.#administration = new Administration(this.#context)
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    this.#context.assertOpen()
    return this.#attempting.attempt(claim, options)
  }

  async renew(
    renewals: readonly Renewal[],
    report?: RenewalListener,
  ): Promise<readonly RenewResult[]> {
    this.#context.assertOpen()
    return this.#renewing.renew(renewals, report)
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    this.#context.assertOpen()
    return this.#withdrawing.withdraw(claim)
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    this.#context.assertOpen()
    return this.#administration.downgrade(claim)
  }

  async adopt(adoption: Adoption): Promise<AdoptResult> {
    this.#context.assertOpen()
    if (this.traits.adopt) return this.#adopting.adopt(adoption)
    const { lock } = adoption.to
    throw new UnsupportedLockError(`The ${this.name} store cannot adopt "${lock}".`, {
      lock,
      store: this.name,
    })
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    return this.#waiting.watch(claim, wake)
  }

  async steal(lock: string, options: StealOptions): Promise<StealResult> {
    this.#context.assertOpen()
    return this.#administration.steal(lock, options)
  }

  async list(query: ListQuery): Promise<NamesPage> {
    this.#context.assertOpen()
    return this.#context.service.listNames(query)
  }

  async inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<LockInfo[]> {
    this.#context.assertOpen()
    return this.#administration.inspect(locks, waitersUpTo)
  }

  /** Leaves what is still held to run out by itself: nothing is released under code that runs. */
  async close(): Promise<void> {
    const { records, removing, sessions, service, clock } = this.#context
    if (this.#context.closed) return
    this.#context.closed = true
    removing.stop()
    let heldMs = 0
    for (const queueEntry of records.queueEntries()) {
      queueEntry.stopWatching()
      if (queueEntry.grant) heldMs = Math.max(heldMs, queueEntry.endMs - clock.monotonicMs())
    }
    if (!records.busy)
      await Promise.allSettled(sessions.all().map((session) => session.handle.end()))
    await service.close(heldMs)
  }
}
