/** A lock with leases: takes, waits, and gives up what it cannot be sure of. What exactly it does is in its parts. */
import { ask, jittered, pause, type Moment } from '../ask.js'
import { note } from '../notes.js'
import type { ControlLease, ControlLock, ControlSettings, ControlWorld } from '../port.js'
import { Lease } from './lease.js'
import { channelOf, type Claim, type Parts, type Timing } from './parts.js'
import { WakeUps } from './wake-ups.js'
import { withdraw } from './withdraw.js'

export class LeaseLock implements ControlLock {
  readonly #parts: Parts
  readonly #world: ControlWorld
  readonly #settings: ControlSettings

  constructor(parts: Parts, world: ControlWorld, settings: ControlSettings) {
    this.#parts = parts
    this.#world = world
    this.#settings = settings
  }

  async acquire(signal?: AbortSignal): Promise<ControlLease> {
    note(this.#settings, 'acquire', 'invoke')
    const wakeUps = new WakeUps(this.#world, channelOf(this.#settings.lock))
    try {
      for (;;) {
        const lease = await this.#pursue(this.#claim(), wakeUps, signal)
        if (lease) return lease
      }
    } catch (error) {
      note(this.#settings, 'acquire', 'fail')
      throw error
    } finally {
      wakeUps.close()
    }
  }

  #claim(): Claim {
    const { lock, ttlMs } = this.#settings
    return { id: this.#world.random.id(), lock, ttlMs }
  }

  /** Tries one claim until it is granted. Undefined if it came to nothing, so that a new one must be made. */
  async #pursue(claim: Claim, wakeUps: WakeUps, signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      const timing = await this.#attempts(claim, wakeUps, signal)
      if (!timing) return undefined
      const lease = new Lease(this.#parts, this.#world, this.#settings, claim, timing.token, timing)
      if (lease.start()) return lease
      this.#giveUp(claim)
      return undefined
    } catch (error) {
      this.#giveUp(claim)
      throw error
    }
  }

  /**
   * Sends the claim until it is answered with a grant. That answer may report a grant that an earlier, unanswered
   * request brought. Then the lease began at the earliest after the last request that was still told "busy".
   */
  async #attempts(
    claim: Claim,
    wakeUps: WakeUps,
    signal?: AbortSignal,
  ): Promise<(Timing & { readonly token: bigint | undefined }) | undefined> {
    let earliest: Moment | undefined
    for (;;) {
      signal?.throwIfAborted()
      const asked = await ask(
        this.#world,
        this.#settings,
        () => this.#parts.attempt(this.#world, claim),
        signal,
      )
      const { sent } = asked
      earliest ??= sent
      if (!asked.clear) {
        await pause(this.#world.clock, jittered(this.#settings.retryMs, this.#world), signal)
        continue
      }
      const { value: answer, replied } = asked
      if (answer.outcome === 'withdrawn') return undefined
      if (answer.outcome !== 'busy') {
        return { base: answer.outcome === 'granted' ? sent : earliest, sent, replied, token: answer.token }
      }
      earliest = sent
      const patienceMs = this.#parts.patienceMs(answer.remainingMs, this.#world, this.#settings)
      await wakeUps.wait(patienceMs, signal)
    }
  }

  /** Nobody waits for it: whoever gave up wants to go on. */
  #giveUp(claim: Claim): void {
    if (this.#parts.whenUnclear === 'withdraw') {
      void withdraw(this.#parts, this.#world, this.#settings, claim).catch(() => undefined)
    }
  }
}
