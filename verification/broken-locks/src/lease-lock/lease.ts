/** A granted claim: believed in until its end, renewed by a watchdog, released or lost. */
import type { Timer } from 'holdfast'
import { ask, InDoubtError } from '../ask.js'
import { note } from '../notes.js'
import type { ControlLease } from '../contract.js'
import type { Belief, Claim, Grant, Means } from './parts.js'
import { withdraw } from './withdraw.js'

export class Lease implements ControlLease {
  readonly token?: bigint
  readonly #means: Means
  readonly #claim: Claim
  readonly #listeners: (() => void)[] = []
  #state: 'held' | 'lost' | 'released' = 'held'
  #belief: Belief
  #endTimer: Timer | undefined
  #renewTimer: Timer | undefined
  #released: Promise<'released' | 'lost'> | undefined

  constructor(means: Means, claim: Claim, grant: Grant) {
    this.#means = means
    this.#claim = claim
    if (grant.token !== undefined) this.token = grant.token
    this.#belief = means.parts.believe(grant, claim.ttlMs, means.world.clock)
  }

  get held(): boolean {
    return this.#state === 'held' && this.#belief() > 0
  }

  /** False if the grant came too late to be believed in. */
  start(): boolean {
    const remainingMs = this.#belief()
    if (remainingMs <= 0) return false
    note(this.#means.settings, 'acquire', 'ok', { token: this.token, remainingMs })
    this.#watchEnd()
    this.#planRenewal(this.#means.parts.renewEveryMs(this.#means.settings.ttlMs))
    return true
  }

  onLost(listener: () => void): void {
    if (this.#state === 'lost') listener()
    else this.#listeners.push(listener)
  }

  release(): Promise<'released' | 'lost'> {
    this.#released ??= this.#release()
    return this.#released
  }

  async #release(): Promise<'released' | 'lost'> {
    if (!this.held) {
      this.#lose()
      return 'lost'
    }
    this.#end('released')
    note(this.#means.settings, 'release', 'invoke')
    const freed = await withdraw(this.#means, this.#claim)
    note(this.#means.settings, 'release', freed === undefined ? 'info' : freed ? 'ok' : 'fail')
    if (freed === undefined)
      throw new InDoubtError(`"${this.#means.settings.lock}" may still be locked.`)
    return freed ? 'released' : 'lost'
  }

  /** The end may have moved since the timer was set, by a renewal or because a clock jumped. */
  #watchEnd(): void {
    this.#endTimer?.cancel()
    const remainingMs = this.#belief()
    if (remainingMs === Infinity) return
    this.#endTimer = this.#means.world.clock.timer(remainingMs, () => {
      if (this.#state !== 'held') return
      if (!this.held) {
        this.#lose()
        return
      }
      note(this.#means.settings, 'renew', 'ok', { token: this.token, remainingMs: this.#belief() })
      this.#watchEnd()
    })
  }

  #planRenewal(inMs: number): void {
    if (inMs === Infinity) return
    this.#renewTimer = this.#means.world.clock.timer(inMs, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    if (this.#state !== 'held') return
    note(this.#means.settings, 'renew', 'invoke')
    const outcome = await this.#askToRenew()
    if (this.#state !== 'held') return
    // The answer came after the end: the lease was lost, with any answer.
    if (!this.held || (outcome === 'lost' && this.#means.parts.whenRefused === 'stop')) {
      this.#lose()
      return
    }
    if (outcome === 'in-doubt') {
      note(this.#means.settings, 'renew', 'info')
      this.#planRenewal(this.#means.settings.retryMs / 2)
      return
    }
    if (outcome !== 'lost') this.#belief = outcome
    note(this.#means.settings, 'renew', 'ok', { token: this.token, remainingMs: this.#belief() })
    this.#watchEnd()
    this.#planRenewal(this.#means.parts.renewEveryMs(this.#means.settings.ttlMs))
  }

  /** In doubt is not lost: the old end stands, and the watchdog soon tries again. */
  async #askToRenew(): Promise<Belief | 'lost' | 'in-doubt'> {
    const { parts, world, settings } = this.#means
    const asked = await ask(world, settings, () => parts.renew(world, this.#claim))
    if (asked.outcome !== 'answered') return 'in-doubt'
    if (!asked.value) return 'lost'
    return parts.believe({ base: asked.sent, ...asked }, settings.ttlMs, world.clock)
  }

  /**
   * Withdraws what Redis may still hold for this claim, since no holder believes in it any longer.
   */
  #lose(): void {
    if (this.#state !== 'held') return
    this.#end('lost')
    note(this.#means.settings, 'lost', 'info', { token: this.token })
    void withdraw(this.#means, this.#claim)
    for (const listener of this.#listeners) listener()
  }

  #end(state: 'lost' | 'released'): void {
    this.#state = state
    this.#endTimer?.cancel()
    this.#renewTimer?.cancel()
  }
}
