/**
 * Wakes the waiters of a client: messages report what they were granted. The subscriptions differ
 * from one server to a Cluster; how a message finds its waiter does not.
 */
import type { Clock } from '../../clock/clock.js'
import { invariant } from '../../invariant.js'
import type { Claim, PushedGrant, WakeListener, Watch } from '../../store/contract.js'
import type { MessageListener, Subscriptions } from './connection/subscriptions.js'
import { readGrant } from './wire/answers.js'

interface Watcher {
  readonly lock: string
  readonly wake: WakeListener
}

export class WakeUpInbox {
  readonly subscriptions: Subscriptions
  readonly #clock: Clock
  /**
   * The ids of claims with an attempt in flight. They are texts and no objects. When the engine
   * replaces the table of an old set, the dead table keeps its values until the next full
   * collection.
   */
  readonly #inFlight = new Set<string>()
  /** How many attempts of a claim are in flight besides that one. */
  readonly #moreInFlight = new Map<string, number>()
  /** Grants whose message overtook the answer to the attempt. */
  readonly #earlyGrants = new Map<string, PushedGrant>()
  readonly #watchers = new Map<string, Watcher>()

  constructor(subscribe: (listener: MessageListener) => Subscriptions, clock: Clock) {
    this.#clock = clock
    this.subscriptions = subscribe({
      message: (text) => this.#deliver(text),
      missed: (lock) => this.#missed(lock),
    })
  }

  /** Whether an attempt of this claim has not been answered yet. */
  hasAttemptInFlight(claimId: string): boolean {
    return this.#inFlight.has(claimId)
  }

  attemptSent(claimId: string): void {
    const { size } = this.#inFlight
    if (this.#inFlight.add(claimId).size > size) return
    this.#moreInFlight.set(claimId, (this.#moreInFlight.get(claimId) ?? 0) + 1)
  }

  attemptAnswered(claimId: string): void {
    if (this.#moreInFlight.size > 0 && this.#oneOfMoreAnswered(claimId)) return
    invariant(this.#inFlight.delete(claimId), 'an attempt is answered once')
    if (this.#earlyGrants.size === 0 || !this.#earlyGrants.has(claimId)) return
    // The caller gets the answer in this tick and may then watch. After that the grant is useless.
    this.#clock.timer(0, () => this.#dropEarlyGrant(claimId), true)
  }

  /** Whether another attempt of the claim is still in flight. */
  #oneOfMoreAnswered(claimId: string): boolean {
    const more = this.#moreInFlight.get(claimId)
    if (more === undefined) return false
    if (more > 1) this.#moreInFlight.set(claimId, more - 1)
    else this.#moreInFlight.delete(claimId)
    return true
  }

  watch({ id, lock }: Claim, wake: WakeListener): Watch {
    const watcher = { lock, wake }
    this.#watchers.set(id, watcher)
    const earlyGrant = this.#earlyGrants.get(id)
    // Not from inside this call: the caller does not have its watch yet.
    if (earlyGrant) queueMicrotask(() => this.#watchers.get(id)?.wake(earlyGrant))
    const subscription = this.subscriptions.join(lock)
    let open = true
    return {
      ready: subscription.ready,
      close: () => {
        if (!open) return
        open = false
        if (this.#watchers.get(id) === watcher) this.#watchers.delete(id)
        subscription.leave()
      },
    }
  }

  close(): void {
    this.subscriptions.close()
    this.#earlyGrants.clear()
    this.#watchers.clear()
  }

  /** A waiter that was granted the lock meanwhile has to ask for it. */
  #missed(lock: string | undefined): void {
    for (const watcher of [...this.#watchers.values()])
      if (lock === undefined || watcher.lock === lock) watcher.wake()
  }

  #deliver(text: string): void {
    for (const line of text.split('\n')) {
      const grant = readGrant(line)
      if (!grant) continue
      const { claimId, token, tokens, ttlMs } = grant
      const watcher = this.#watchers.get(claimId)
      if (watcher) watcher.wake({ token, tokens, ttlMs })
      else if (this.#inFlight.has(claimId)) this.#earlyGrants.set(claimId, { token, tokens, ttlMs })
    }
  }

  #dropEarlyGrant(claimId: string): void {
    if (!this.#inFlight.has(claimId)) this.#earlyGrants.delete(claimId)
  }
}
