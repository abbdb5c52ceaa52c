/**
 * Wake-ups: one channel for each client, on a connection of the store's own that is opened when somebody waits first.
 */
import type { Clock } from '../../clock/clock.js'
import type { Claim, PushedGrant, WakeListener, Watch } from '../../store/contract.js'
import { readGrant } from './answers.js'
import type { ChannelConnection, Transport } from './transports/transport.js'

export class Wakes {
  readonly channel: string
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #listeners = new Map<string, WakeListener>()
  /** Grants for claims whose attempt is still under way: the message overtook the answer. */
  readonly #early = new Map<string, PushedGrant>()
  /** Attempts under way, by claim. */
  readonly #asking = new Map<string, number>()
  #connection: ChannelConnection | undefined
  #listening = false
  #firstListening: Promise<void> | undefined
  #onFirstListening: (() => void) | undefined

  constructor(transport: Transport, channel: string, clock: Clock) {
    this.#transport = transport
    this.#clock = clock
    this.channel = channel
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

  watch(claim: Claim, wake: WakeListener): Watch {
    this.#listeners.set(claim.id, wake)
    const early = this.#early.get(claim.id)
    // Not from inside this call: the caller does not have its watch yet.
    if (early) queueMicrotask(() => this.#listeners.get(claim.id)?.(early))
    this.#connect()
    return {
      ready: this.#listening ? undefined : this.#firstListening,
      close: () => void this.#listeners.delete(claim.id),
    }
  }

  close(): void {
    this.#connection?.close()
    this.#listeners.clear()
    this.#onFirstListening?.()
  }

  #connect(): void {
    if (this.#connection) return
    this.#firstListening = new Promise((resolve) => (this.#onFirstListening = resolve))
    this.#connection = this.#transport.listen(this.channel, {
      message: (text) => this.#deliver(text),
      listening: () => this.#onListening(),
    })
  }

  #onListening(): void {
    if (this.#listening) {
      // After a gap: whoever was granted the lock in it has to find out.
      for (const wake of [...this.#listeners.values()]) wake()
    }
    this.#listening = true
    this.#onFirstListening?.()
  }

  #deliver(text: string): void {
    for (const line of text.split('\n')) {
      const grant = readGrant(line)
      if (!grant) continue
      const { claimId, token, tokens, ttlMs } = grant
      const listener = this.#listeners.get(claimId)
      if (listener) listener({ token, tokens, ttlMs })
      else if (this.isAsking(claimId)) this.#early.set(claimId, { token, tokens, ttlMs })
    }
  }

  #forget(claimId: string): void {
    if (!this.isAsking(claimId)) this.#early.delete(claimId)
  }
}
