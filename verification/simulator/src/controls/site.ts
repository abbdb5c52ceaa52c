/**
 * The place of one process that uses a control: like a site of the real runtime, with one lock and
 * one thing to do.
 */
import type { Control, ControlLease, ControlLock } from '@holdfast/broken-locks'
import { Dice, increment, type Resource } from '@holdfast/workload'
import type { Site as FaultySite } from '../faults/apply.js'
import { nanoseconds, type Chronicle } from '../workload/chronicle.js'
import type { Circumstances } from '../workload/circumstances.js'
import type { FencedCounters } from '../workload/fenced-counter.js'
import type { Agenda } from '../world/agenda.js'
import { Link } from '../world/link.js'
import { MachineClock } from '../world/machine-clock.js'
import { Process } from '../world/process.js'
import type { ControlCase, ControlOperation } from './case.js'
import { modelConnection } from './redis-connection.js'
import type { RedisServer } from './redis-server.js'

export const LOCK = 'lock'
const LOOK_EVERY_MS = 60

export interface ControlGround {
  readonly plan: ControlCase
  readonly create: Control['create']
  readonly agenda: Agenda
  readonly server: RedisServer
  readonly chronicle: Chronicle
  readonly counters: FencedCounters
  readonly circumstances: Circumstances
  nextPid: number
}

export class ControlSite implements FaultySite {
  readonly clock: MachineClock
  readonly links: readonly [Link]
  readonly name: string
  done = false
  readonly #ground: ControlGround
  readonly #script: readonly ControlOperation[]
  readonly #seed: string
  #position = 0
  #generation = 0
  #process!: Process
  #dice!: Dice
  #lock!: ControlLock

  constructor(ground: ControlGround, index: number) {
    const { agenda, plan } = ground
    this.#ground = ground
    this.name = `p${index}`
    this.#seed = `control ${index}`
    this.#script = plan.scripts[index] ?? []
    this.clock = new MachineClock(agenda, plan.clocks[index] ?? plan.serverClock)
    this.links = [new Link(agenda, Dice.named(plan.seed, `${this.#seed} link`), plan.lanes)]
    this.#start()
  }

  get runs(): boolean {
    return this.#process.runs
  }

  stop(): void {
    this.#process.stop()
  }

  resume(): void {
    this.#process.resume()
  }

  kill(): void {
    this.#process.kill()
    this.#ground.chronicle.note(this.#process.pid, this.name, { f: 'kill', type: 'info', key: '' })
  }

  revive(): void {
    this.#start()
  }

  #start(): void {
    const { agenda, plan, server, create, chronicle } = this.#ground
    this.#ground.nextPid += 1
    this.#generation += 1
    const pid = this.#ground.nextPid
    this.#dice = Dice.named(plan.seed, `${this.#seed}.${this.#generation}`)
    const process = new Process(this.name, pid, agenda, this.clock, this.#dice)
    const dice = this.#dice
    this.#process = process
    this.#lock = create(
      {
        clock: process,
        random: { next: () => dice.unit(), id: () => dice.id() },
        redis: modelConnection(process, this.links[0], server),
      },
      {
        lock: LOCK,
        ttlMs: plan.ttlMs,
        requestTimeoutMs: 200,
        retryMs: 100,
        history: {
          note: (note) => chronicle.note(pid, this.name, note),
          deadlineNs: (remainingMs) =>
            nanoseconds(process.machine.trueMs(process.monotonicMs() + remainingMs())),
        },
      },
    )
    void this.#run(process)
  }

  async #run(process: Process): Promise<void> {
    const { circumstances } = this.#ground
    while (this.#position < this.#script.length && !circumstances.closing) {
      const operation = this.#script[this.#position] as ControlOperation
      this.#position += 1
      await sleep(process, operation.thinkMs)
      if (!circumstances.closing) await this.#perform(process, operation)
    }
    this.done = true
  }

  async #perform(process: Process, { workMs, giveUpMs }: ControlOperation): Promise<void> {
    const waitLimit = new AbortController()
    if (giveUpMs !== undefined)
      process.timer(giveUpMs, () => waitLimit.abort(new Error('It took too long.')))
    let lease: ControlLease
    try {
      lease = await this.#lock.acquire(waitLimit.signal)
    } catch {
      // A control that gives up or is refused has noted that itself.
      return
    }
    await this.#increment(process, lease)
    for (let leftMs = workMs; leftMs > 0 && lease.held && !this.#ground.circumstances.closing;) {
      await sleep(process, Math.min(leftMs, LOOK_EVERY_MS))
      leftMs -= LOOK_EVERY_MS
    }
    await this.#increment(process, lease)
    // What stays in doubt it has noted, too.
    await lease.release().catch(() => undefined)
  }

  async #increment(process: Process, lease: ControlLease): Promise<void> {
    if (!lease.held) return
    const { counters } = this.#ground
    const visit = <T>(ask: () => T): Promise<T> => this.#visit(process, ask)
    const resource: Resource = {
      read: (key, owner, token) => visit(() => counters.read(key, owner, token)),
      write: async (key, owner, token, value) => ({
        accepted: await visit(() => counters.write(key, owner, token, value)),
      }),
    }
    await increment(resource, {
      key: LOCK,
      owner: `${process.pid}/${this.#position}`,
      token: lease.token,
      believes: () => lease.held,
      note: (note) => this.#ground.chronicle.note(process.pid, this.name, note),
    })
  }

  #visit<T>(process: Process, ask: () => T): Promise<T> {
    const { agenda } = this.#ground
    const dice = this.#dice
    return new Promise((resolve) => {
      agenda.after(dice.exponential(1, 10), () => {
        const answer = ask()
        agenda.after(dice.exponential(1, 10), () => process.receive(() => resolve(answer)))
      })
    })
  }
}

function sleep(process: Process, ms: number): Promise<void> {
  return new Promise((resolve) => void process.timer(ms, resolve))
}
