/** A client of the good lock: it acquires the lock, works, and releases it. */
import type { HistoryNote } from '@holdfast/conformance'
import { MARGIN_NS, type Cohort, type Lease } from './cohort.js'
import { TTL_NS } from './server.js'
import type { World } from './world.js'

const THINK_NS = 3_000_000
const WORK_NS = 2_000_000

export class Client {
  readonly #world: World
  readonly #pid: number
  readonly #name: string
  readonly #weight: number
  readonly #cohort: Cohort
  alive = true

  constructor(world: World, pid: number, name: string, weight: number, cohort: Cohort) {
    this.#world = world
    this.#pid = pid
    this.#name = name
    this.#weight = weight
    this.#cohort = cohort
  }

  async run(): Promise<void> {
    for (let round = 0; round < this.#world.options.rounds; round += 1) {
      await this.#world.agenda.sleep(this.#world.upTo(THINK_NS))
      this.#say({ f: 'acquire', type: 'invoke' })
      const enqueued = (): void => this.#say({ f: 'enqueued', type: 'info' })
      const lease = await this.#cohort.acquire(this.#weight, enqueued)
      // A killed client writes nothing more, and its lease ends by itself.
      if (!this.alive) return
      await this.#hold(lease)
      await this.#giveBack(lease)
      if (!this.alive) return
    }
  }

  async #hold(lease: Lease): Promise<void> {
    const { capacity } = this.#world.options
    const exclusive = this.#weight === capacity
    this.#say({
      f: 'acquire',
      type: 'ok',
      mode: exclusive ? 'exclusive' : 'shared',
      weight: this.#weight,
      capacity,
      claim: lease.id,
      token: lease.token,
      deadline_ns: BigInt(lease.deadlineNs),
    })
    if (exclusive && this.#world.happens(0.5)) await this.#count(lease)
    await this.#world.agenda.sleep(this.#world.upTo(WORK_NS))
    if (this.#world.happens(0.2)) await this.#renew(lease)
    if (exclusive && capacity > 1 && this.#world.happens(0.3)) await this.#lower(lease)
    if (this.#world.options.faults && this.#world.happens(0.05))
      await this.#world.agenda.sleep(2 * TTL_NS)
  }

  async #count({ token }: Lease): Promise<void> {
    const { counter } = this.#world
    const owner = `${this.#pid} ${this.#name}`
    this.#say({ f: 'read', type: 'invoke', token })
    const value = await this.#ask(() => counter.read(owner, token))
    this.#say({ f: 'read', ...(value === undefined ? { type: 'fail' } : { type: 'ok', value }) })
    if (value === undefined) return
    if (this.#world.options.faults && this.#world.happens(0.1))
      await this.#world.agenda.sleep(2 * TTL_NS)
    this.#say({ f: 'write', type: 'invoke', token, value: value + 1 })
    const accepted = await this.#ask(() => this.alive && counter.write(owner, token, value + 1))
    this.#say({
      f: 'write',
      ...(accepted ? { type: 'ok', value: value + 1 } : { type: 'fail', fence: counter.fence }),
    })
  }

  async #renew(lease: Lease): Promise<void> {
    const sentNs = this.#world.agenda.nowNs
    this.#say({ f: 'renew', type: 'invoke' })
    const renewed = await this.#ask(() => this.#world.server.renew(lease.id))
    if (!renewed || this.#world.agenda.nowNs >= lease.deadlineNs)
      return this.#say({ f: 'renew', type: 'fail' })
    lease.deadlineNs = sentNs + TTL_NS - MARGIN_NS
    this.#say({ f: 'renew', type: 'ok', deadline_ns: BigInt(lease.deadlineNs) })
  }

  async #lower(lease: Lease): Promise<void> {
    this.#say({ f: 'downgrade', type: 'invoke', weight: 1 })
    await this.#ask(() => this.#world.server.lower(lease.id))
    this.#say({ f: 'downgrade', type: 'ok' })
  }

  async #giveBack(lease: Lease): Promise<void> {
    if (!this.alive) return
    const held = this.#world.agenda.nowNs < lease.deadlineNs
    this.#say({ f: 'held', type: held ? 'ok' : 'fail' })
    this.#say({ f: 'release', type: 'invoke' })
    if (this.#cohort.handOn(lease)) return this.#say({ f: 'release', type: 'ok' })
    const released = await this.#ask(() => this.#world.server.release(lease.id))
    this.#say({ f: 'release', type: released && held ? 'ok' : 'fail' })
  }

  /** A request, and its answer. */
  async #ask<Answer>(does: () => Answer): Promise<Answer> {
    await this.#world.agenda.sleep(this.#world.latencyNs())
    const answer = does()
    await this.#world.agenda.sleep(this.#world.latencyNs())
    return answer
  }

  #say(note: Omit<HistoryNote, 'key'>): void {
    if (this.alive) this.#world.note(this.#pid, this.#name, note)
  }
}
