/**
 * Wake-ups: messages that tell waiters of this client what they were granted. Where they are listened for differs from one
 * server to a Cluster; how a message finds its waiter does not.
 */
import type { Clock } from '../../clock/clock.js'
import type { Claim, PushedGrant, WakeListener, Watch } from '../../store/contract.js'
import { LinkedMap } from '../../collections/linked-map.js'
import { readGrant } from './answers.js'

/** Told of what was heard. */
export interface MessageListener {
  message(text: string): void
  /** Messages may have been missed: those about this lock, or about any. */
  missed(lock?: string): void
}

export interface Subscriptions {
  /** Where grants of this lock are to be published for this client. */
  channelOf(lock: string): string
  /** Listens for grants of this lock, until everybody who joined has left. */
  join(lock: string): Subscription
  close(): void
}

export interface Subscription {
  /** Undefined when it works at once. */
  readonly ready: Promise<void> | undefined
  leave(): void
}

interface Waiter {
  readonly lock: string
  readonly wake: WakeListener
}

/** A claim of which something may be heard. */
interface Expected {
  /** Its attempts under way. */
  asking: number
  /** A grant whose message overtook the answer to the attempt. */
  early: PushedGrant | undefined
  waiter: Waiter | undefined
}

export class Wakes {
  readonly #clock: Clock
  readonly #subscriptions: Subscriptions
  /** By the claim's id. */
  readonly #expected = new LinkedMap<Expected>()

  constructor(subscribe: (listener: MessageListener) => Subscriptions, clock: Clock) {
    this.#clock = clock
    this.#subscriptions = subscribe({
      message: (text) => this.#deliver(text),
      missed: (lock) => this.#missed(lock),
    })
  }

  channelOf(lock: string): string {
    return this.#subscriptions.channelOf(lock)
  }

  /** Whether an attempt of this claim has not been answered yet. */
  isAsking(claimId: string): boolean {
    return (this.#expected.get(claimId)?.asking ?? 0) > 0
  }

  asked(claimId: string): void {
    this.#expect(claimId).asking += 1
  }

  answered(claimId: string): void {
    const expected = this.#expected.get(claimId)
    if (!expected) return
    expected.asking -= 1
    if (expected.asking > 0) return
    // The answer itself reaches its caller in this turn, who may then watch; afterwards nobody needs the grant.
    if (expected.early) this.#clock.timer(0, () => this.#forgetEarly(claimId, expected), true)
    else this.#tidy(claimId, expected)
  }

  watch({ id, lock }: Claim, wake: WakeListener): Watch {
    const waiter = { lock, wake }
    const expected = this.#expect(id)
    expected.waiter = waiter
    const { early } = expected
    // Not from inside this call: the caller does not have its watch yet.
    if (early) queueMicrotask(() => expected.waiter?.wake(early))
    const subscription = this.#subscriptions.join(lock)
    let open = true
    return {
      ready: subscription.ready,
      close: () => {
        if (!open) return
        open = false
        if (expected.waiter === waiter) expected.waiter = undefined
        this.#tidy(id, expected)
        subscription.leave()
      },
    }
  }

  close(): void {
    this.#subscriptions.close()
    this.#expected.clear()
  }

  /** Whoever was granted the lock meanwhile has to find out. */
  #missed(lock: string | undefined): void {
    for (const { waiter } of this.#expected.values()) {
      if (waiter && (lock === undefined || waiter.lock === lock)) waiter.wake()
    }
  }

  #deliver(text: string): void {
    for (const line of text.split('\n')) {
      const grant = readGrant(line)
      if (!grant) continue
      const { claimId, token, tokens, ttlMs } = grant
      const expected = this.#expected.get(claimId)
      if (expected?.waiter) expected.waiter.wake({ token, tokens, ttlMs })
      else if (expected) expected.early = { token, tokens, ttlMs }
    }
  }

  #expect(claimId: string): Expected {
    let expected = this.#expected.get(claimId)
    if (!expected) {
      expected = { asking: 0, early: undefined, waiter: undefined }
      this.#expected.add(claimId, expected)
    }
    return expected
  }

  #forgetEarly(claimId: string, expected: Expected): void {
    if (expected.asking > 0) return
    expected.early = undefined
    this.#tidy(claimId, expected)
  }

  #tidy(claimId: string, { asking, early, waiter }: Expected): void {
    if (asking === 0 && !early && !waiter) this.#expected.delete(claimId)
  }
}
