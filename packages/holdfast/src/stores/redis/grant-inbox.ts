/**
 * Wake-ups: messages that tell waiters of this client what they were granted. Where they are
 * listened for differs from one server to a Cluster; how a message finds its waiter does not.
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
interface Entry {
  /** Its attempts under way. */
  inFlight: number
  /** A grant whose message overtook the answer to the attempt. */
  earlyGrant: PushedGrant | undefined
  waiter: Waiter | undefined
}

export class GrantInbox {
  readonly #clock: Clock
  readonly #subscriptions: Subscriptions
  /** By the claim's id. */
  readonly #entries = new LinkedMap<Entry>()

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
  hasAttemptInFlight(claimId: string): boolean {
    return (this.#entries.get(claimId)?.inFlight ?? 0) > 0
  }

  attemptSent(claimId: string): void {
    this.#entryOf(claimId).inFlight += 1
  }

  attemptAnswered(claimId: string): void {
    const entry = this.#entries.get(claimId)
    if (!entry) return
    entry.inFlight -= 1
    if (entry.inFlight > 0) return
    // The answer itself reaches its caller in this turn, who may then watch; afterwards nobody
    // needs the grant.
    if (entry.earlyGrant) this.#clock.timer(0, () => this.#dropEarlyGrant(claimId, entry), true)
    else this.#tidy(claimId, entry)
  }

  watch({ id, lock }: Claim, wake: WakeListener): Watch {
    const waiter = { lock, wake }
    const entry = this.#entryOf(id)
    entry.waiter = waiter
    const { earlyGrant: early } = entry
    // Not from inside this call: the caller does not have its watch yet.
    if (early) queueMicrotask(() => entry.waiter?.wake(early))
    const subscription = this.#subscriptions.join(lock)
    let open = true
    return {
      ready: subscription.ready,
      close: () => {
        if (!open) return
        open = false
        if (entry.waiter === waiter) entry.waiter = undefined
        this.#tidy(id, entry)
        subscription.leave()
      },
    }
  }

  close(): void {
    this.#subscriptions.close()
    this.#entries.clear()
  }

  /** Whoever was granted the lock meanwhile has to find out. */
  #missed(lock: string | undefined): void {
    for (const { waiter } of this.#entries.values()) {
      if (waiter && (lock === undefined || waiter.lock === lock)) waiter.wake()
    }
  }

  #deliver(text: string): void {
    for (const line of text.split('\n')) {
      const grant = readGrant(line)
      if (!grant) continue
      const { claimId, token, tokens, ttlMs } = grant
      const entry = this.#entries.get(claimId)
      if (entry?.waiter) entry.waiter.wake({ token, tokens, ttlMs })
      else if (entry) entry.earlyGrant = { token, tokens, ttlMs }
    }
  }

  #entryOf(claimId: string): Entry {
    let entry = this.#entries.get(claimId)
    if (!entry) {
      entry = { inFlight: 0, earlyGrant: undefined, waiter: undefined }
      this.#entries.add(claimId, entry)
    }
    return entry
  }

  #dropEarlyGrant(claimId: string, entry: Entry): void {
    if (entry.inFlight > 0) return
    entry.earlyGrant = undefined
    this.#tidy(claimId, entry)
  }

  #tidy(claimId: string, { inFlight: asking, earlyGrant: early, waiter }: Entry): void {
    if (asking === 0 && !early && !waiter) this.#entries.delete(claimId)
  }
}
