/** A granted claim: believed in until its end, renewed by a watchdog, released or lost. */
import type { Timer } from 'holdfast'
import { ask, UnclearError } from '../ask.js'
import { note } from '../notes.js'
import { isReplyError, type ControlLease, type ControlSettings, type ControlWorld } from '../port.js'
import type { Belief, Claim, Parts, Timing } from './parts.js'
import { withdraw } from './withdraw.js'

export class Lease implements ControlLease {
  readonly token?: bigint
  readonly #parts: Parts
  readonly #world: ControlWorld
  readonly #settings: ControlSettings
  readonly #claim: Claim
  readonly #listeners: (() => void)[] = []
  #state: 'held' | 'lost' | 'released' = 'held'
  #belief: Belief
  #endTimer: Timer | undefined
  #renewTimer: Timer | undefined
  #released: Promise<'released' | 'lost'> | undefined

  constructor(
    parts: Parts,
    world: ControlWorld,
    settings: ControlSettings,
    claim: Claim,
    token: bigint | undefined,
    timing: Timing,
  ) {
    this.#parts = parts
    this.#world = world
    this.#settings = settings
    this.#claim = claim
    if (token !== undefined) this.token = token
    this.#belief = parts.believe(timing, settings.ttlMs, world.clock)
  }

  get held(): boolean {
    return this.#state === 'held' && this.#belief() > 0
  }

  /** False if the grant came too late to be believed in. */
  start(): boolean {
    const remainingMs = this.#belief()
    if (remainingMs <= 0) return false
    note(this.#settings, 'acquire', 'ok', { token: this.token, remainingMs })
    this.#watchEnd()
    this.#planRenewal(this.#parts.renewEveryMs(this.#settings.ttlMs))
    return true
  }

  onLost(listener: () => void): void {
    this.#listeners.push(listener)
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
    note(this.#settings, 'release', 'invoke')
    const freed = await withdraw(this.#parts, this.#world, this.#settings, this.#claim)
    note(this.#settings, 'release', freed === undefined ? 'info' : freed ? 'ok' : 'fail')
    if (freed === undefined) throw new UnclearError(`"${this.#settings.lock}" may still be locked.`)
    return freed ? 'released' : 'lost'
  }

  /** The end may have moved since the timer was set, by a renewal or because a clock jumped. */
  #watchEnd(): void {
    this.#endTimer?.cancel()
    const remainingMs = this.#belief()
    if (remainingMs === Infinity) return
    this.#endTimer = this.#world.clock.timer(remainingMs, () => {
      if (this.#state !== 'held') return
      if (!this.held) {
        this.#lose()
        return
      }
      note(this.#settings, 'renew', 'ok', { token: this.token, remainingMs: this.#belief() })
      this.#watchEnd()
    })
  }

  #planRenewal(inMs: number): void {
    if (inMs === Infinity) return
    this.#renewTimer = this.#world.clock.timer(inMs, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    if (this.#state !== 'held') return
    note(this.#settings, 'renew', 'invoke')
    const outcome = await this.#askToRenew()
    if (this.#state !== 'held') return
    // The answer came after the end: that was the loss, whatever the answer says.
    if (!this.held || (outcome === 'lost' && this.#parts.whenToldLost === 'stop')) {
      this.#lose()
      return
    }
    if (outcome === 'unclear') {
      note(this.#settings, 'renew', 'info')
      this.#planRenewal(this.#settings.retryMs / 2)
      return
    }
    if (outcome !== 'lost') this.#belief = outcome
    note(this.#settings, 'renew', 'ok', { token: this.token, remainingMs: this.#belief() })
    this.#watchEnd()
    this.#planRenewal(this.#parts.renewEveryMs(this.#settings.ttlMs))
  }

  /** Unclear is not lost: the old end stands, and the watchdog soon tries again. */
  async #askToRenew(): Promise<Belief | 'lost' | 'unclear'> {
    const { clock } = this.#world
    try {
      const asked = await ask(this.#world, this.#settings, () => this.#parts.renew(this.#world, this.#claim))
      if (!asked.clear) return 'unclear'
      if (!asked.value) return 'lost'
      return this.#parts.believe({ base: asked.sent, ...asked }, this.#settings.ttlMs, clock)
    } catch (error) {
      if (isReplyError(error)) return 'unclear'
      throw error
    }
  }

  /** What Redis may still hold for this claim is given back, for nobody believes in it any longer. */
  #lose(): void {
    if (this.#state !== 'held') return
    this.#end('lost')
    note(this.#settings, 'lost', 'info', { token: this.token })
    for (const listener of this.#listeners) listener()
    void withdraw(this.#parts, this.#world, this.#settings, this.#claim).catch(() => undefined)
  }

  #end(state: 'lost' | 'released'): void {
    this.#state = state
    this.#endTimer?.cancel()
    this.#renewTimer?.cancel()
  }
}
