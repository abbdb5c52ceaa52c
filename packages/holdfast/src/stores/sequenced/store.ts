/** A store over a service where position is the grant: the recipe of etcd and ZooKeeper, behind the contract. */
import { systemClock, type Clock } from '../../clock/clock.js'
import { DEFAULT_POLL_MS } from '../../store/contract.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
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
import { Administration } from './administration.js'
import { Attempting } from './attempting.js'
import { StoreContext } from './context.js'
import type { PortSession, SequencedPort } from './port.js'
import { Renewing } from './renewing.js'
import { Waiting } from './waiting.js'
import { Withdrawing } from './withdrawing.js'

export interface SequencedStoreOptions {
  readonly name: string
  /** The range of TTLs, in milliseconds. */
  readonly ttlMs: readonly [number, number]
  readonly clock?: Clock | undefined
}

export class SequencedStore<S extends PortSession> implements Store<true> {
  readonly name: string
  readonly traits: Traits<true>
  readonly #context: StoreContext<S>
  readonly #waiting: Waiting<S>
  readonly #attempting: Attempting<S>
  readonly #withdrawing: Withdrawing<S>
  readonly #renewing: Renewing<S>
  readonly #administration: Administration<S>

  constructor(port: SequencedPort<S>, { name, ttlMs, clock = systemClock }: SequencedStoreOptions) {
    this.name = name
    this.traits = {
      fencing: true,
      tokenBlocks: true,
      kinds: ['mutex', 'readWriteLock', 'semaphore'],
      fair: true,
      wakeUp: 'push',
      expiry: 'session',
      downgrade: true,
      steal: true,
      inspect: true,
      pollMs: DEFAULT_POLL_MS,
      ttlMs,
    }
    this.#context = new StoreContext(name, port, clock)
    this.#waiting = new Waiting(this.#context)
    this.#attempting = new Attempting(this.#context, this.#waiting)
    this.#withdrawing = new Withdrawing(this.#context)
    this.#renewing = new Renewing(this.#context)
    this.#administration = new Administration(this.#context)
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    this.#context.assertOpen(claim.lock)
    return this.#attempting.attempt(claim, options)
  }

  async renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const [first] = renewals
    if (first) this.#context.assertOpen(first.lock)
    return this.#renewing.renew(renewals, report)
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    this.#context.assertOpen(claim.lock)
    return this.#withdrawing.withdraw(claim)
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    this.#context.assertOpen(claim.lock)
    return this.#administration.downgrade(claim)
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    return this.#waiting.watch(claim, wake)
  }

  async steal(lock: string, options: StealOptions): Promise<StealResult> {
    this.#context.assertOpen(lock)
    return this.#administration.steal(lock, options)
  }

  async inspect(query: InspectQuery): Promise<InspectPage> {
    this.#context.assertOpen('lock' in query ? query.lock : query.prefix)
    return this.#administration.inspect(query)
  }

  /** Leaves what is still held to run out by itself: nothing is released under code that runs. */
  async close(): Promise<void> {
    const { records, removing, sessions, port, clock } = this.#context
    if (this.#context.closed) return
    this.#context.closed = true
    removing.stop()
    let heldMs = 0
    for (const standpoint of records.standpoints()) {
      standpoint.stopWatching()
      if (standpoint.grant) heldMs = Math.max(heldMs, standpoint.endMs - clock.monotonicMs())
    }
    if (!records.busy) await Promise.allSettled(sessions.all().map((session) => session.handle.end()))
    await port.close(heldMs)
  }
}
