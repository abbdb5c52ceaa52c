/** A client whose event loop can be blocked, and its helper, both in virtual time. */
import { StoreUnavailableError, type Clock, type Timer } from 'holdfast'
import { SeededRandom, type VirtualClock } from 'holdfast/testing'
import type { Renewal, RenewResult, Store } from 'holdfast/store'
import { Client } from '../../../../dist/lease/client.js'
import { LateRenewals } from '../../../../dist/lease/renew/helper/late-renewals.js'
import type { StolenLease } from '../../../../dist/lease/renew/helper/messages.js'
import { RenewalHelper } from '../../../../dist/lease/renew/helper/renewal-helper.js'
import { SharedBoard } from '../../../../dist/lease/renew/helper/shared-leases.js'
import { mutex } from '../../../../dist/locks/mutex.js'
import { makeWorld } from '../../../support/world.js'

export const TTL_MS = 3000
export const CAP_MS = 10_000

/** A clock whose timers wait while the event loop is blocked. */
class LoopClock implements Clock {
  readonly #clock: VirtualClock
  readonly #late = new Set<() => void>()
  #isBlocked = false

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  monotonicMs = (): number => this.#clock.monotonicMs()
  wallMs = (): number => this.#clock.wallMs()

  timer(delayMs: number, fire: () => void): Timer {
    const whenFree = (): void => {
      if (this.#isBlocked) this.#late.add(fire)
      else fire()
    }
    const timer = this.#clock.timer(delayMs, whenFree)
    return {
      cancel: () => {
        timer.cancel()
        this.#late.delete(fire)
      },
    }
  }

  block(): void {
    this.#isBlocked = true
  }

  /** Gives the event loop a turn. */
  free(): void {
    this.#isBlocked = false
    for (const fire of this.#late) {
      this.#late.delete(fire)
      fire()
    }
  }
}

export interface HelperWorld {
  readonly clock: VirtualClock
  readonly client: Client
  readonly helper: RenewalHelper
  readonly store: Store
  /** When each renewal of the helper left. */
  readonly lateMs: number[]
  /** What becomes of the helper's renewals. */
  fate: 'deliver' | 'fail'
  /** How long they take each way. */
  latencyMs: number
  tryAcquire(): ReturnType<ReturnType<typeof mutex>['tryAcquire']>
  acquire(options?: Parameters<typeof mutex>[2]): ReturnType<ReturnType<typeof mutex>['acquire']>
  /** Blocks the event loop for a time. It stays blocked until `free`. */
  block(ms: number): Promise<void>
  free(): void
}

export function makeHelperWorld(): HelperWorld {
  const { clock, store, wire, client: clientOf } = makeWorld()
  const loop = new LoopClock(clock)
  const random = new SeededRandom(1)
  const behind = (ms: number): Promise<void> =>
    new Promise((resolve) => void clock.timer(ms, resolve))
  const near = clientOf().store
  const client = new Client(near, { clock: loop, random, ttlMs: TTL_MS })
  const board = new SharedBoard()
  const stolen: StolenLease[] = []
  const far: Store = {
    ...near,
    renew: async (renewals: readonly Renewal[]): Promise<readonly RenewResult[]> => {
      world.lateMs.push(clock.monotonicMs())
      await behind(world.latencyMs)
      if (world.fate === 'fail') throw new StoreUnavailableError('The server is away.')
      const results = await store.renew(renewals)
      await behind(world.latencyMs)
      return results
    },
  }
  const late = new LateRenewals({
    store: far,
    board,
    blockedAtMostMs: CAP_MS,
    clock,
    onStolen: (lease) => stolen.push(lease),
  })
  const thread = {
    share: late.share.bind(late),
    stolen: () => stolen.splice(0),
    close: async () => undefined,
  }
  const helper = new RenewalHelper(client.runtime, client.renewals, { board, thread, aheadMs: 0 })
  client.renewals.helper = helper
  const lock = (options: Parameters<typeof mutex>[2]) => mutex(client, 'a', options)
  const world: HelperWorld = {
    clock,
    client,
    helper,
    store,
    lateMs: [],
    fate: 'deliver',
    latencyMs: wire.latencyMs,
    acquire: async (options = {}) => clock.until(lock(options).acquire()),
    tryAcquire: async () => clock.until(lock({}).tryAcquire()),
    async block(ms) {
      loop.block()
      await clock.advance(ms)
    },
    free: () => loop.free(),
  }
  return world
}
