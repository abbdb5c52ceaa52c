/**
 * The skeleton of the ladder's rungs: try, sleep, try again. Its leases know no deadline, so a
 * holder believes forever, or until a watchdog, if there is one, hears otherwise. An error reaches
 * the caller as it is, and nothing is undone.
 */
import type { Timer } from 'holdfast'
import { ask, jittered, pause, InDoubtError } from '../ask.js'
import { note } from '../notes.js'
import type { ControlLease, ControlLock, ControlSettings, ControlWorld } from '../contract.js'

/** Who wants which lock, for how long. */
export interface Wish {
  readonly lock: string
  /** One handle's name for itself, for rungs that tell owners apart. */
  readonly owner: string
  readonly ttlMs: number
}

export interface Verbs {
  take(world: ControlWorld, wish: Wish): Promise<boolean>
  /** Whether there was something to free. */
  free(world: ControlWorld, wish: Wish): Promise<boolean>
  /** Whether the lock is still the owner's. A rung without it has no watchdog. */
  readonly renew?: (world: ControlWorld, wish: Wish) => Promise<boolean>
}

interface Means {
  readonly verbs: Verbs
  readonly world: ControlWorld
  readonly settings: ControlSettings
  readonly wish: Wish
}

export class PlainLock implements ControlLock {
  readonly #means: Means

  constructor(verbs: Verbs, world: ControlWorld, settings: ControlSettings) {
    const { lock, ttlMs } = settings
    this.#means = { verbs, world, settings, wish: { lock, owner: world.random.id(), ttlMs } }
  }

  async acquire(signal?: AbortSignal): Promise<ControlLease> {
    const { settings, verbs, world, wish } = this.#means
    note(settings, 'acquire', 'invoke')
    try {
      while (!(await answered(this.#means, () => verbs.take(world, wish), signal))) {
        await pause(world.clock, jittered(settings.retryMs, world), signal)
        signal?.throwIfAborted()
      }
    } catch (error) {
      note(settings, 'acquire', 'fail')
      throw error
    }
    note(settings, 'acquire', 'ok')
    return new PlainLease(this.#means)
  }
}

class PlainLease implements ControlLease {
  readonly #means: Means
  readonly #listeners: (() => void)[] = []
  #held = true
  #lost = false
  #renewal: Timer | undefined

  constructor(means: Means) {
    this.#means = means
    this.#planRenewal()
  }

  get held(): boolean {
    return this.#held
  }

  onLost(listener: () => void): void {
    if (this.#lost) listener()
    else this.#listeners.push(listener)
  }

  async release(): Promise<'released' | 'lost'> {
    if (!this.#held) return 'lost'
    const { settings, verbs, world, wish } = this.#means
    this.#end()
    note(settings, 'release', 'invoke')
    try {
      const freed = await answered(this.#means, () => verbs.free(world, wish))
      note(settings, 'release', freed ? 'ok' : 'fail')
      return freed ? 'released' : 'lost'
    } catch (error) {
      note(settings, 'release', 'info')
      throw error
    }
  }

  #planRenewal(): void {
    const { verbs, world, wish } = this.#means
    if (verbs.renew)
      this.#renewal = world.clock.timer(wish.ttlMs / 3, () => void this.#renew(verbs))
  }

  async #renew({ renew }: Verbs): Promise<void> {
    const { settings, world, wish } = this.#means
    if (!renew || !this.#held) return
    note(settings, 'renew', 'invoke')
    const asked = await ask(world, settings, () => renew(world, wish))
    if (!this.#held) return
    if (asked.outcome === 'answered' && !asked.value) {
      this.#lose()
      return
    }
    note(settings, 'renew', asked.outcome === 'answered' ? 'ok' : 'info')
    this.#planRenewal()
  }

  #lose(): void {
    this.#end()
    this.#lost = true
    note(this.#means.settings, 'lost', 'info')
    for (const listener of this.#listeners) listener()
  }

  #end(): void {
    this.#held = false
    this.#renewal?.cancel()
  }
}

async function answered<T>(
  { world, settings }: Means,
  send: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted()
  const asked = await ask(world, settings, send, signal)
  if (asked.outcome === 'answered') return asked.value
  if (asked.outcome === 'refused') throw asked.error
  signal?.throwIfAborted()
  throw new InDoubtError(`Redis did not answer about "${settings.lock}".`)
}
