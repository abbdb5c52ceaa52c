/**
 * Wake-ups: messages that tell waiters of this client what they were granted. Where they are listened for differs from one
 * server to a Cluster; how a message finds its waiter does not.
 */
import type { Clock } from '../../clock/clock.js'
import type { Claim, PushedGrant, WakeListener, Watch } from '../../store/contract.js'
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

export class Wakes {
  readonly #clock: Clock
  readonly #subscriptions: Subscriptions
  readonly #waiters = new Map<string, Waiter>()
  /** Grants for claims whose attempt is still under way: the message overtook the answer. */
  readonly #early = new Map<string, PushedGrant>()
  /** Attempts under way, by claim. */
  readonly #asking = new Map<string, number>()

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
    return this.#asking.has(claimId)
  }

  asked(claimId: string): void {
    this.#asking.set(claimId, (this.#asking.get(claimId) ?? 0) + 1)
  }

  answered(claimId: string): void {
    const left = (this.#asking.get(claimId) ?? 1) - 1
    if (left > 0) {
      this.#asking.set(claimId, left)
      return
    }
    this.#asking.delete(claimId)
    // The answer itself reaches its caller in this turn, who may then watch; afterwards nobody needs the grant.
    if (this.#early.has(claimId)) this.#clock.timer(0, () => this.#forget(claimId), true)
  }

  watch({ id, lock }: Claim, wake: WakeListener): Watch {
    const waiter = { lock, wake }
    this.#waiters.set(id, waiter)
    const early = this.#early.get(id)
    // Not from inside this call: the caller does not have its watch yet.
    if (early) queueMicrotask(() => this.#waiters.get(id)?.wake(early))
    const subscription = this.#subscriptions.join(lock)
    let open = true
    return {
      ready: subscription.ready,
      close: () => {
        if (!open) return
        open = false
        if (this.#waiters.get(id) === waiter) this.#waiters.delete(id)
        subscription.leave()
      },
    }
  }

  close(): void {
    this.#subscriptions.close()
    this.#waiters.clear()
  }

  /** Whoever was granted the lock meanwhile has to find out. */
  #missed(lock: string | undefined): void {
    for (const waiter of [...this.#waiters.values()]) {
      if (lock === undefined || waiter.lock === lock) waiter.wake()
    }
  }

  #deliver(text: string): void {
    for (const line of text.split('\n')) {
      const grant = readGrant(line)
      if (!grant) continue
      const { claimId, token, tokens, ttlMs } = grant
      const waiter = this.#waiters.get(claimId)
      if (waiter) waiter.wake({ token, tokens, ttlMs })
      else if (this.isAsking(claimId)) this.#early.set(claimId, { token, tokens, ttlMs })
    }
  }

  #forget(claimId: string): void {
    if (!this.isAsking(claimId)) this.#early.delete(claimId)
  }
}
