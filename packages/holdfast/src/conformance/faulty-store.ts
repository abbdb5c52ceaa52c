/**
 * A store behind a wire that misbehaves as told: requests and replies are late, lost, doubled, or
 * held back until the test says so. What arrives is handled by the real store; nothing is
 * pretended.
 *
 * Like a real connection it answers asynchronously, and what was sent first may arrive last.
 */
import { systemClock, type Clock } from '../clock/clock.js'
import { StoreUnavailableError } from '../errors.js'
import type {
  AttemptOptions,
  AttemptResult,
  Claim,
  ClaimRef,
  InspectPage,
  InspectQuery,
  PushedGrant,
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
} from '../store/contract.js'
import type { MaybePromise } from '../store/maybe-promise.js'

/** What travels: the verbs, and the wake-ups that come the other way. */
export type Message =
  | { readonly verb: 'attempt'; readonly claim: Claim; readonly options: AttemptOptions }
  | { readonly verb: 'renew'; readonly renewals: readonly Renewal[] }
  | { readonly verb: 'withdraw'; readonly claim: ClaimRef }
  | { readonly verb: 'downgrade'; readonly claim: ClaimRef }
  | { readonly verb: 'steal'; readonly lock: string; readonly options: StealOptions }
  | { readonly verb: 'inspect'; readonly query: InspectQuery }
  | { readonly verb: 'wake'; readonly claim: Claim; readonly grant: PushedGrant | undefined }

export type Verb = Message['verb']

/** A message, and when it was sent. */
export interface Sent {
  readonly message: Message
  readonly atMs: number
}

/** What becomes of one message. An empty fate delivers it. A wake-up has only a request. */
export interface Fate {
  /** `request`: it never arrives. `reply`: it arrives, and the sender never hears of it. */
  readonly drop?: 'request' | 'reply'
  /**
   * What is dropped is reported as a failure at once, instead of leaving the sender without an
   * answer.
   */
  readonly tell?: boolean
  /** How long the request travels. */
  readonly requestMs?: number
  readonly replyMs?: number
  /** Keeps the request on its way until this settles. */
  readonly holdRequest?: PromiseLike<unknown>
  /** Keeps the reply on its way until this settles. */
  readonly holdReply?: PromiseLike<unknown>
  /** The request arrives once more, so long after the first time; nobody hears of that answer. */
  readonly againAfterMs?: number
  /**
   * Of a batch of renewals it strikes those of this lock only; the others are delivered by
   * themselves.
   */
  readonly ofLock?: string
}

/** Decides about each message as it is sent. */
export type Plan = (message: Message) => Fate

export interface FaultyStoreOptions {
  readonly clock?: Clock
  readonly plan?: Plan
  /**
   * After so long without an answer the sender is told that the outcome is unknown. Default: never.
   */
  readonly requestTimeoutMs?: number
}

const NO_FAULT: Fate = {}

export class FaultyStore<F extends boolean = boolean> implements Store<F> {
  readonly name: string
  readonly traits: Traits<F>
  /** What has been sent so far, wake-ups included. */
  readonly sent: Sent[] = []
  plan: Plan
  readonly #inner: Store<F>
  readonly #clock: Clock
  readonly #requestTimeoutMs: number

  constructor(inner: Store<F>, options: FaultyStoreOptions = {}) {
    this.#inner = inner
    this.#clock = options.clock ?? systemClock
    this.#requestTimeoutMs = options.requestTimeoutMs ?? Infinity
    this.plan = options.plan ?? (() => NO_FAULT)
    this.name = inner.name
    this.traits = inner.traits
  }

  /** From now on everything is delivered; what was dropped stays dropped. */
  heal(): void {
    this.plan = () => NO_FAULT
  }

  /** How many messages of a verb were sent. */
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
    const [struck, spared] = [true, false].map((isStruck) =>
      renewals.filter(({ lock }) => (lock === fate.ofLock) === isStruck),
    ) as [Renewal[], Renewal[]]
    if (struck.length === 0) return send(renewals, NO_FAULT)
    return this.#renewParts(
      renewals,
      report,
      [send(struck, fate), struck],
      [send(spared, NO_FAULT), spared],
    )
  }

  /** The parts of a batch, each of which is reported when it is answered. */
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

  steal(lock: string, options: StealOptions): Promise<StealResult> {
    return this.#send({ verb: 'steal', lock, options }, () => this.#inner.steal(lock, options))
  }

  inspect(query: InspectQuery): Promise<InspectPage> {
    return this.#send({ verb: 'inspect', query }, () => this.#inner.inspect(query))
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
    if (fate.tell !== true) {
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
    // Also a refusal takes its time on the way back.
    await answer.catch(() => undefined)
    await this.#travel(fate.replyMs, fate.holdReply)
    return answer
  }

  async #travel(ms: number | undefined, hold: PromiseLike<unknown> | undefined): Promise<void> {
    if (ms !== undefined) await new Promise<void>((resolve) => void this.#clock.timer(ms, resolve))
    if (hold !== undefined) await hold
  }

  #unknown(message: Message, why: string): StoreUnavailableError {
    return new StoreUnavailableError(`Nobody knows what became of the ${message.verb}: ${why}.`, {
      store: this.name,
    })
  }
}

/** A plan for some verbs; the others are delivered. */
export function planFor(fates: Partial<Record<Verb, Fate>>): Plan {
  return (message) => fates[message.verb] ?? NO_FAULT
}

/** A plan that strikes only the first messages of a verb. */
export function planForFirst(verb: Verb, fate: Fate, count = 1): Plan {
  let left = count
  return (message) => {
    if (message.verb !== verb || left === 0) return NO_FAULT
    left -= 1
    return fate
  }
}

/** A promise that a test settles when it likes: for `holdRequest` and `holdReply`. */
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
