/**
 * A lock with leases: takes, waits, and gives up what it cannot be sure of. What exactly it does is
 * in its parts.
 */
import { ask, jittered, pause, type Moment } from '../ask.js'
import { note } from '../notes.js'
import type { ControlLease, ControlLock, ControlSettings, ControlWorld } from '../contract.js'
import { Lease } from './lease.js'
import { channelOf, type Claim, type Grant, type Means, type Parts } from './parts.js'
import { WakeUps } from './wake-ups.js'
import { withdraw } from './withdraw.js'

export class LeaseLock implements ControlLock {
  readonly #means: Means

  constructor(parts: Parts, world: ControlWorld, settings: ControlSettings) {
    this.#means = { parts, world, settings }
  }

  async acquire(signal?: AbortSignal): Promise<ControlLease> {
    const { settings, world } = this.#means
    note(settings, 'acquire', 'invoke')
    const wakeUps = new WakeUps(world, channelOf(settings.lock))
    try {
      for (;;) {
        const claim = { id: world.random.id(), lock: settings.lock, ttlMs: settings.ttlMs }
        const lease = await this.#pursue(claim, wakeUps, signal)
        if (lease) return lease
      }
    } catch (error) {
      note(settings, 'acquire', 'fail')
      throw error
    } finally {
      wakeUps.close()
    }
  }

  /**
   * Tries one claim until it is granted. Undefined if it came to nothing, so that a new one must be
   * made.
   */
  async #pursue(claim: Claim, wakeUps: WakeUps, signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      const grant = await this.#attempts(claim, wakeUps, signal)
      if (!grant) return undefined
      const lease = new Lease(this.#means, claim, grant)
      if (lease.start()) return lease
      this.#giveUp(claim)
      return undefined
    } catch (error) {
      this.#giveUp(claim)
      throw error
    }
  }

  /**
   * Sends the claim until it is answered with a grant. That answer may report a grant that an
   * earlier, unanswered request brought. Then the lease began at the earliest after the last
   * request that was still answered "busy".
   */
  async #attempts(
    claim: Claim,
    wakeUps: WakeUps,
    signal?: AbortSignal,
  ): Promise<Grant | undefined> {
    const { parts, world, settings } = this.#means
    let earliest: Moment | undefined
    for (;;) {
      signal?.throwIfAborted()
      const asked = await ask(world, settings, () => parts.attempt(world, claim), signal)
      if (asked.outcome === 'refused') throw asked.error
      const { sent } = asked
      earliest ??= sent
      if (asked.outcome === 'in-doubt') {
        await pause(world.clock, jittered(settings.retryMs, world), signal)
        continue
      }
      const { value: answer, replied } = asked
      if (answer.outcome === 'withdrawn') return undefined
      if (answer.outcome !== 'busy') {
        return {
          base: answer.outcome === 'granted' ? sent : earliest,
          sent,
          replied,
          token: answer.token,
        }
      }
      earliest = sent
      await wakeUps.wait(parts.patienceMs(answer.remainingMs, world, settings), signal)
    }
  }

  /** The withdrawal runs in the background: the caller that gave up does not wait for it. */
  #giveUp(claim: Claim): void {
    if (this.#means.parts.whenInDoubt === 'withdraw') void withdraw(this.#means, claim)
  }
}
