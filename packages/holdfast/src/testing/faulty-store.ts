/**
 * A store behind a wire with planned faults: requests and replies are delayed, lost, repeated, or
 * held until the test opens a gate. The real store handles what arrives.
 *
 * Like a real connection it answers asynchronously, and messages may overtake each other.
 */
import { systemClock, type Clock } from '../clock/clock.js'
import { StoreUnavailableError, UnsupportedLockError } from '../errors.js'
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
  PushedGrant,
  RenewResult,
  Renewal,
  RenewalListener,
  StealOptions,
  StealResult,
  Store,
  Traits,
  WakeListener,
  Watch,
  WithdrawOutcome,
} from '../store/contract.js'
import type { MaybePromise } from '../store/maybe-promise.js'

/** What travels over the wire: the verbs, and the wake-ups in the other direction. */
export type Message =
  | { readonly verb: 'attempt'; readonly claim: Claim; readonly options: AttemptOptions }
  | { readonly verb: 'renew'; readonly renewals: readonly Renewal[] }
  | { readonly verb: 'withdraw'; readonly claim: ClaimRef }
  | { readonly verb: 'downgrade'; readonly claim: ClaimRef }
  | { readonly verb: 'adopt'; readonly adoption: Adoption }
  | { readonly verb: 'steal'; readonly lock: string; readonly options: StealOptions }
  | { readonly verb: 'list'; readonly query: ListQuery }
  | { readonly verb: 'inspect'; readonly locks: readonly string[] }
  | { readonly verb: 'wake'; readonly claim: Claim; readonly grant: PushedGrant | undefined }

/** The name of a message. */
export type Verb = Message['verb']

/** A message, and when it was sent. */
export interface Sent {
  readonly message: Message
  readonly atMs: number
}

/** What happens to one message. An empty fate delivers it. A wake-up has only a request. */
export interface Fate {
  /** `request`: it never arrives. `reply`: it arrives, and its reply does not. */
  readonly drop?: 'request' | 'reply'
  /** Whether a drop rejects at once, as a broken connection does. Default: no answer. */
  readonly fails?: boolean
  /** How long the request travels, in milliseconds. */
  readonly requestMs?: number
  readonly replyMs?: number
  /** Delays the request until this settles. */
  readonly holdRequest?: PromiseLike<unknown>
  /** Delays the reply until this settles. */
  readonly holdReply?: PromiseLike<unknown>
  /** The request arrives again this long after the first time. The second answer is dropped. */
  readonly againAfterMs?: number
  /**
   * Limits the fate to the renewals of this lock, or of those for which it returns true. The others
   * of a batch are delivered apart.
   */
  readonly ofLock?: string | ((lock: string) => boolean)
}

/** Decides about each message as it is sent. */
export type Plan = (message: Message) => Fate

/** The clock and the planned faults of a `FaultyStore`. */
export interface FaultyStoreOptions {
  readonly clock?: Clock | undefined
  readonly plan?: Plan | undefined
  /** After this long without an answer the call rejects, in milliseconds. Default: never. */
  readonly requestTimeoutMs?: number | undefined
}

const NO_FAULT: Fate = {}

/** Wraps a store and applies the planned fate to each message. */
export class FaultyStore implements Store {
  readonly name: string
  readonly traits: Traits
  /** The messages sent so far, wake-ups included. */
  readonly sent: Sent[] = []
  plan: Plan
  readonly #inner: Store
  readonly #clock: Clock
  readonly #requestTimeoutMs: number

  constructor(inner: Store, options: FaultyStoreOptions = {}) {
    this.#inner = inner
    this.#clock = options.clock ?? systemClock
    this.#requestTimeoutMs = options.requestTimeoutMs ?? Infinity
    this.plan = options.plan ?? (() => NO_FAULT)
    this.name = inner.name
    this.traits = inner.traits
  }

  /** Delivers every message from now on. Dropped messages stay dropped. */
  heal(): void {
    this.plan = () => NO_FAULT
  }

  /** Returns how many messages of the verb were sent. */
  count(verb: Verb): number {
    return this.sent.filter(({ message }) => message.verb === verb).length
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    return this.#send({ verb: 'attempt', claim, options }, () =>
      this.#inner.attempt(claim, options),
    )
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const message: Message = { verb: 'renew', renewals }
    const fate = this.#judge(message)
    const send = (some: readonly Renewal[], its: Fate): Promise<readonly RenewResult[]> =>
      this.#bound(
        message,
        this.#exchange(message, its, () => this.#inner.renew(some)),
      )
    if (fate.ofLock === undefined) return send(renewals, fate)
    const { ofLock } = fate
    const isOf = typeof ofLock === 'string' ? (lock: string) => lock === ofLock : ofLock
    const [struck, spared] = [true, false].map((isStruck) =>
      renewals.filter(({ lock }) => isOf(lock) === isStruck),
    ) as [Renewal[], Renewal[]]
    if (struck.length === 0) return send(renewals, NO_FAULT)
    return this.#renewParts(
      renewals,
      report,
      [send(struck, fate), struck],
      [send(spared, NO_FAULT), spared],
    )
  }

  /** Joins the parts of a batch, and reports each when it is answered. */
  async #renewParts(
    renewals: readonly Renewal[],
    report: RenewalListener | undefined,
    ...parts: readonly (readonly [Promise<readonly RenewResult[]>, readonly Renewal[]])[]
  ): Promise<readonly RenewResult[]> {
    const results: RenewResult[] = []
    const take = async ([answer, its]: (typeof parts)[number]): Promise<void> => {
      for (const [place, result] of (await answer).entries()) {
        const index = renewals.indexOf(its[place] as Renewal)
        results[index] = result
        report?.(index, result)
      }
    }
    await Promise.all(parts.map(take))
    return results
  }

  withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    return this.#send({ verb: 'withdraw', claim }, () => this.#inner.withdraw(claim))
  }

  downgrade(claim: ClaimRef): Promise<boolean> {
    return this.#send({ verb: 'downgrade', claim }, () => this.#inner.downgrade(claim))
  }

  adopt(adoption: Adoption): Promise<AdoptResult> {
    const deliver = async (): Promise<AdoptResult> => {
      if (this.#inner.adopt) return this.#inner.adopt(adoption)
      throw new UnsupportedLockError(`The ${this.name} store has no adopt.`, { store: this.name })
    }
    return this.#send({ verb: 'adopt', adoption }, deliver)
  }

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#send({ verb: 'steal', lock, options }, () => this.#inner.steal(lock, options))
  }

  list(query: ListQuery): Promise<NamesPage> {
    return this.#send({ verb: 'list', query }, () => this.#inner.list(query))
  }

  inspect(locks: readonly string[], waitersUpTo?: readonly string[]): Promise<readonly LockInfo[]> {
    return this.#send({ verb: 'inspect', locks }, () => this.#inner.inspect(locks, waitersUpTo))
  }

  watch(claim: Claim, wake: WakeListener): Watch {
    let open = true
    const inner = this.#inner.watch(claim, (grant) => {
      const fate = this.#judge({ verb: 'wake', claim, grant })
      if (fate.drop) return
      void this.#travel(fate.requestMs, fate.holdRequest).then(() => {
        if (open) wake(grant)
      })
    })
    return {
      ready: inner.ready,
      close: () => {
        open = false
        inner.close()
      },
    }
  }

  close(): MaybePromise<void> {
    return this.#inner.close()
  }

  #judge(message: Message): Fate {
    this.sent.push({ message, atMs: this.#clock.monotonicMs() })
    return this.fateOf(message)
  }

  /** Returns what happens to a message. */
  protected fateOf(message: Message): Fate {
    return this.plan(message)
  }

  #send<T>(message: Message, deliver: () => MaybePromise<T>): Promise<T> {
    return this.#bound(message, this.#exchange(message, this.#judge(message), deliver))
  }

  #bound<T>(message: Message, answer: Promise<T>): Promise<T> {
    if (this.#requestTimeoutMs === Infinity) return answer
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(this.#unknown(message, 'no answer came in time'))
      const timer = this.#clock.timer(this.#requestTimeoutMs, giveUp)
      answer.finally(() => timer.cancel()).then(resolve, reject)
    })
  }

  async #exchange<T>(message: Message, fate: Fate, deliver: () => MaybePromise<T>): Promise<T> {
    if (!fate.drop) return this.#arrive(fate, deliver)
    const arrival = fate.drop === 'reply' ? this.#arrive(fate, deliver) : undefined
    if (fate.fails !== true) {
      arrival?.catch(() => undefined)
      return new Promise<never>(() => undefined)
    }
    await arrival
    throw this.#unknown(message, 'the connection broke')
  }

  async #arrive<T>(fate: Fate, deliver: () => MaybePromise<T>): Promise<T> {
    await this.#travel(fate.requestMs, fate.holdRequest)
    const answer = Promise.resolve(deliver())
    if (fate.againAfterMs !== undefined) {
      const again = (): void => void Promise.resolve(deliver()).catch(() => undefined)
      this.#clock.timer(fate.againAfterMs, again, true)
    }
    // A refusal travels back like an answer.
    await answer.catch(() => undefined)
    await this.#travel(fate.replyMs, fate.holdReply)
    return answer
  }

  async #travel(ms: number | undefined, hold: PromiseLike<unknown> | undefined): Promise<void> {
    if (ms !== undefined) await new Promise<void>((resolve) => void this.#clock.timer(ms, resolve))
    if (hold !== undefined) await hold
  }

  #unknown(message: Message, why: string): StoreUnavailableError {
    return new StoreUnavailableError(`The outcome of the ${message.verb} is unknown: ${why}.`, {
      store: this.name,
    })
  }
}

/** Returns a plan with a fate for some verbs. Messages of the others are delivered. */
export function planFor(fates: Partial<Record<Verb, Fate>>): Plan {
  return (message) => fates[message.verb] ?? NO_FAULT
}

/** Returns a plan with a fate for the first `count` messages of a verb. */
export function planForFirst(verb: Verb, fate: Fate, count = 1): Plan {
  let left = count
  return (message) => {
    if (message.verb !== verb || left === 0) return NO_FAULT
    left -= 1
    return fate
  }
}

/** A promise that the test settles: for `holdRequest` and `holdReply`. */
export class Gate {
  readonly opened: Promise<void>
  #open!: () => void

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open()
  }
}
