/** One actor: does one thing at a time, as a careful program would, and writes down all of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dice, Operation } from '@holdfast/simulator'
import type { Lease, WriteLease } from 'holdfast'
import type { HistoryNote } from 'holdfast/conformance'
import type { Belief } from './belief.js'
import { drawWish, type Wish } from './script.js'
import { AbortedByCaller, type Site, type Target } from './site.js'

/** How long an actor works before it looks at its lease again. */
const LOOK_EVERY_MS = 60
/** How long it waits for a lock that it can do without. */
const PATIENT_WAIT_MS = 300
/** How long it waits for a lock that others hold for seconds. */
const VIGIL_WAIT_MS = 60_000
/** How late a lease is renewed that is renewed but once. */
const LATE_MS = 2500
/** After a refusal, so that nobody asks a service that is away as fast as it can refuse. */
const REFUSED_MS = 30
/** Work that goes on when nothing new is begun ends within so long. */
const CLOSING_WORK_MS = 5

interface Taking {
  readonly how: Operation['how']
  readonly options: { readonly waitMs: number; readonly signal?: AbortSignal }
}

export class Actor {
  readonly #name: string
  readonly #site: Site
  readonly #draw: () => Wish

  /** @param draw what it does next; by default anything */
  constructor(
    name: string,
    site: Site,
    dice: Dice,
    draw = (): Wish => drawWish(dice, site.locks.store.traits),
  ) {
    this.#name = name
    this.#site = site
    this.#draw = draw
  }

  async run(): Promise<void> {
    try {
      while (!this.#site.closing) {
        const wish = this.#draw()
        await sleep(wish.thinkMs)
        if (!this.#site.closing) await this.#perform(wish)
      }
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#site.log.breach({
        property: 'error',
        key: '',
        message: `${this.#name} met an error: ${text}`,
      })
    }
  }

  async #perform(wish: Wish): Promise<void> {
    if (wish.vigil !== undefined) {
      const { vigil, workMs, late = false } = wish
      const taking: Taking = { how: 'acquire', options: { waitMs: VIGIL_WAIT_MS } }
      await this.#hold(vigil, taking, (belief) =>
        late ? this.#renewLate(belief) : this.#workFor(workMs, belief),
      )
    } else if (wish.patient !== undefined) {
      const { how, workMs } = wish
      const options = { waitMs: PATIENT_WAIT_MS }
      await this.#hold(this.#site.patient(wish.patient), { how, options }, (belief) =>
        this.#workFor(workMs, belief),
      )
    } else if (wish.how === 'steal') await this.#steal(wish.lock)
    else {
      const target = this.#site.target(wish)
      const taking = { how: wish.how, options: waitOptions(wish) }
      await this.#hold(target, taking, (belief) => this.#work(wish, target, belief))
    }
  }

  async #steal(lock: string): Promise<void> {
    try {
      await this.#site.locks.steal(lock)
    } catch (error) {
      await this.#endure(error)
    }
  }

  async #hold(
    target: Target,
    taking: Taking,
    work: (belief: Belief) => Promise<void>,
  ): Promise<void> {
    const site = this.#site
    this.#note({ ...target.claimed, f: 'acquire', type: 'invoke' })
    let begun = false
    site.waiting += 1
    const believe = (lease: Lease): Belief => {
      begun = true
      site.waiting -= 1
      return site.believe(this.#name, lease, target.claimed)
    }
    try {
      await this.#take(target, taking, believe, work)
    } catch (error) {
      if (!begun) this.#note({ ...target.claimed, f: 'acquire', type: 'fail' })
      await this.#endure(error)
    }
    if (!begun) site.waiting -= 1
  }

  async #take(
    { lock, claimed }: Target,
    { how, options }: Taking,
    believe: (lease: Lease) => Belief,
    work: (belief: Belief) => Promise<void>,
  ): Promise<void> {
    if (how === 'run') {
      await lock.run(async (lease) => {
        const belief = believe(lease)
        await work(belief)
        this.#end(belief)
      }, options)
      return
    }
    const lease = await (how === 'try' ? lock.tryAcquire() : lock.acquire(options))
    if (!lease) {
      this.#note({ ...claimed, f: 'acquire', type: 'fail' })
      return
    }
    const belief = believe(lease)
    await work(belief)
    await this.#giveBack(belief)
  }

  async #work(operation: Operation, target: Target, belief: Belief): Promise<void> {
    if (operation.idle) return
    await this.#increment(belief)
    if (operation.twist !== 'none') await this.#twist(operation, target, belief)
    if (operation.nested && !this.#site.closing) await this.#perform(operation.nested)
    await this.#workFor(operation.workMs, belief)
    await this.#increment(belief)
  }

  /**
   * Renews when there is just time for a member that does not answer and another one, and never
   * again.
   */
  async #renewLate(belief: Belief): Promise<void> {
    const { lease } = belief
    await this.#workFor(lease.remainingMs - LATE_MS, belief)
    if (this.#site.closing || !belief.look()) return
    await lease.renew().catch((error: unknown) => this.#endure(error))
    await this.#workFor(lease.remainingMs, belief)
  }

  async #workFor(workMs: number, belief: Belief): Promise<void> {
    const endMs = performance.now() + workMs
    for (let leftMs = workMs; leftMs > 0; leftMs = endMs - performance.now()) {
      const mostMs = this.#site.closing ? CLOSING_WORK_MS : LOOK_EVERY_MS
      await sleep(Math.min(leftMs, mostMs))
      if (!belief.look() || this.#site.closing) return
    }
  }

  async #twist({ twist, how }: Operation, target: Target, belief: Belief): Promise<void> {
    const { lease } = belief
    if (!belief.look()) return
    try {
      if (twist === 'renew') await lease.renew()
      else if (twist === 're-enter' && how === 'run' && belief.exclusive) {
        await target.lock.run(() => this.#increment(belief))
      } else if (twist === 'downgrade')
        await belief.downgrade(() => (lease as WriteLease).downgrade())
    } catch (error) {
      await this.#endure(error)
    }
  }

  /** Reads the counter, goes home, and writes one more. */
  async #increment(belief: Belief): Promise<void> {
    const { resource } = this.#site
    const { lease, key } = belief
    const { token } = lease
    if (!belief.exclusive || !belief.look()) return
    const shown = token === undefined ? {} : { token }
    const asking = {
      key,
      owner: `${lease.claimId}/${String(token)}`,
      ...(token === undefined ? {} : { token: String(token) }),
    }
    this.#note({ key, f: 'read', type: 'invoke', ...shown })
    const { accepted, value = 0 } = await resource.ask(asking)
    this.#note({
      key,
      f: 'read',
      ...(accepted ? { type: 'ok', value } : { type: 'fail' }),
      ...shown,
    })
    if (!accepted || !belief.look()) return
    const write = { key, f: 'write', value: value + 1, ...shown } as const
    this.#note({ type: 'invoke', ...write })
    const answer = await resource.ask({ ...asking, value: value + 1 })
    const fence = answer.fence === undefined ? {} : { fence: BigInt(answer.fence) }
    this.#note({ type: answer.accepted ? 'ok' : 'fail', ...write, ...fence })
  }

  async #giveBack(belief: Belief): Promise<void> {
    this.#end(belief)
    try {
      belief.released(await belief.lease.release())
    } catch (error) {
      belief.released(undefined)
      await this.#endure(error)
    }
  }

  #end(belief: Belief): void {
    belief.look()
    belief.release()
    this.#site.forget(belief)
  }

  async #endure(error: unknown): Promise<void> {
    if (!this.#site.isExpected(error)) throw error
    await sleep(REFUSED_MS)
  }

  #note(note: HistoryNote): void {
    this.#site.note(this.#name, note)
  }
}

function waitOptions({ waitMs, abortMs }: Operation): Taking['options'] {
  if (abortMs === undefined) return { waitMs }
  const controller = new AbortController()
  setTimeout(() => controller.abort(new AbortedByCaller()), abortMs)
  return { waitMs, signal: controller.signal }
}
