/** Runs a case with deadlocks, and judges it: each is broken, and nothing else is reported. */
import { type DeadlockError, isLockError, type Lease, type Lockable, type Locks } from 'holdfast'
import { CAPACITY_ALL } from 'holdfast/store'
import { Dice, EXPECTED_CODES } from '@holdfast/workload'
import { arrange, type Site } from '../faults/apply.js'
import type { Finding } from '../judge/finding.js'
import type { Runtime } from '../runtime.js'
import { realRuntime } from '../runtime.js'
import { endsByWallClock, makeService } from '../server/models.js'
import type { Access, Service } from '../server/service.js'
import { Claimants } from '../workload/claimants.js'
import { Agenda } from '../world/agenda.js'
import { Link } from '../world/link.js'
import { MachineClock } from '../world/machine-clock.js'
import { drawMoments } from '../world/moments.js'
import { Process } from '../world/process.js'
import type { Nest, DeadlockActor, DeadlockCase, Take } from './case.js'
import { Waits } from './waits.js'

const TTL_MS = 1000
const REQUEST_TIMEOUT_MS = 300
/** After faults healed, all deadlocks must be broken, one after the other, and all work done. */
const DRAIN_MS = 15_000
/** In a run without faults a deadlock is broken this long after it closed. */
const FOUND_WITHIN_MS = 2000
const PERMITS = 2
const MOST_EVENTS = 500_000

export interface DeadlockOutcome {
  readonly findings: readonly Finding[]
  /** How many deadlocks were reported. */
  readonly reports: number
  /** The longest time from the closing of a deadlock to its report, where no fault struck. */
  readonly longestMs: number
  readonly steps: number
}

export async function runDeadlocks(
  plan: DeadlockCase,
  runtime: Runtime = realRuntime,
): Promise<DeadlockOutcome> {
  const agenda = new Agenda(drawMoments(plan.seed))
  const clock = new MachineClock(agenda, plan.serverClock)
  const service = makeService(plan, agenda, [clock], runtime)
  const world: World = { plan, runtime, agenda, service, waits: new Waits(agenda), closing: false }
  const sites = plan.clocks.map((_, index) => new DeadlockSite(world, index))
  const heal = arrange({ agenda, sites, servers: service.hosts }, plan.faults)
  const exhausted = (): boolean => agenda.fired > MOST_EVENTS
  await agenda.run(plan.durationMs, exhausted)
  world.closing = true
  heal()
  const busy = (): string[] => sites.flatMap((site) => site.busy)
  const drainMs = DRAIN_MS + lengthenedMs(plan)
  await agenda.run(plan.durationMs + drainMs, () => exhausted() || busy().length === 0)
  const stuck = busy()
  for (const site of sites) site.close()
  await agenda.run(agenda.nowMs + DRAIN_MS, exhausted)
  const { findings, longestMs } = judge(world)
  const faults = sites.flatMap((site) => site.faults)
  return {
    findings: [
      ...findings,
      ...faults.map((message) => ({ property: 'error', key: '', message })),
      ...stuck.map((name) => ({
        property: 'liveness',
        key: '',
        message: `${name} still waits ${drainMs.toFixed(0)} ms after all faults healed.`,
      })),
    ],
    reports: world.waits.reports.length,
    longestMs,
    steps: agenda.fired,
  }
}

/**
 * Returns by how much the leases of killed processes may last longer: a step back of the wall
 * clock of the server moves their end. No other client ends them.
 */
function lengthenedMs({ store, faults }: DeadlockCase): number {
  if (!endsByWallClock(store)) return 0
  const steps = faults.map((fault) => (fault.kind === 'server-clock-step' ? fault.byMs : 0))
  return steps.reduce((sum, byMs) => sum - Math.min(0, byMs), 0)
}

interface World {
  readonly plan: DeadlockCase
  readonly runtime: Runtime
  readonly agenda: Agenda
  readonly service: Service
  readonly waits: Waits
  closing: boolean
}

function judge({ plan, waits }: World): { findings: Finding[]; longestMs: number } {
  const findings: Finding[] = []
  const seen = new Set<string>()
  let longestMs = 0
  for (const { actor, error, atMs } of waits.reports) {
    const key = error.lock ?? ''
    const closedMs = waits.instantOf(error)
    if (closedMs === undefined) {
      findings.push({ property: 'true-report', key, message: `${actor}: ${error.message}` })
      continue
    }
    const steps = error.cycle.map(({ claimId, waitsFor }) => `${claimId} ${waitsFor}`)
    const name = steps.toSorted().join('\n')
    if (seen.has(name))
      findings.push({ property: 'one-victim', key, message: `a second time: ${error.message}` })
    seen.add(name)
    if (plan.faults.length > 0) continue
    longestMs = Math.max(longestMs, atMs - closedMs)
    if (atMs - closedMs <= FOUND_WITHIN_MS) continue
    const message = `${actor} learned after ${(atMs - closedMs).toFixed(0)} ms: ${error.message}`
    findings.push({ property: 'found-in-time', key, message })
  }
  return { findings, longestMs }
}

/** An actor, and how far it has come. */
interface Work {
  readonly script: DeadlockActor
  next: number
  isDone: boolean
}

/** The place of one process. After a kill another process does the rest of its work. */
class DeadlockSite implements Site {
  readonly clock: MachineClock
  readonly links: readonly [Link]
  readonly faults: string[] = []
  readonly #world: World
  readonly #index: number
  readonly #actors: Work[]
  #generation = 0
  #process!: Process
  #locks!: Locks
  #access!: Access

  constructor(world: World, index: number) {
    const { agenda, plan } = world
    this.#world = world
    this.#index = index
    this.clock = new MachineClock(agenda, plan.clocks[index] as DeadlockCase['serverClock'])
    this.links = [new Link(agenda, Dice.named(plan.seed, `ring link ${index}`), plan.lanes)]
    this.#actors = plan.actors
      .filter(({ process }) => process === index)
      .map((script) => ({ script, next: 0, isDone: false }))
    this.revive()
  }

  get runs(): boolean {
    return this.#process.runs
  }

  /** The actors that have work left. */
  get busy(): string[] {
    return this.#actors.filter(({ isDone }) => !isDone).map(({ script }) => script.name)
  }

  stop(): void {
    this.#process.stop()
  }

  resume(): void {
    this.#process.resume()
  }

  kill(): void {
    this.#process.kill()
    for (const { script } of this.#actors) this.#world.waits.end(script.name)
  }

  resetConnections(): void {
    this.#access.reset()
  }

  revive(): void {
    const { agenda, plan, service, runtime } = this.#world
    const dice = Dice.named(plan.seed, `ring process ${this.#index}.${this.#generation}`)
    this.#generation += 1
    const name = `p${this.#index}`
    const process = new Process(name, 100 + this.#index, agenda, this.clock, dice)
    this.#process = process
    this.#access = service.open({
      process,
      links: this.links,
      dice,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      claimants: new Claimants(),
    })
    this.#locks = runtime.createLocks(this.#access.store, {
      ttlMs: TTL_MS,
      deadlockCheckMs: plan.deadlockCheckMs,
      clock: process,
      random: { next: () => dice.unit(), id: () => dice.id() },
    })
    for (const actor of this.#actors) if (!actor.isDone) void this.#work(actor, process)
  }

  close(): void {
    this.#locks.close({ graceMs: 0 }).catch(() => undefined) // the run is over
  }

  async #work(actor: Work, process: Process): Promise<void> {
    const { nests, name } = actor.script
    while (!this.#world.closing && actor.next < nests.length) {
      const nest = nests[actor.next] as Nest
      actor.next += 1
      await sleep(process, nest.thinkMs)
      if (!this.#world.closing) await this.#nest(name, nest, process)
    }
    if (process.alive) actor.isDone = true
  }

  async #nest(name: string, nest: Nest, process: Process): Promise<void> {
    try {
      await this.#take(name, nest, process, [])
    } catch (error) {
      this.#endure(name, error)
    }
  }

  /** Takes the next lock of the nest inside of the leases of the others. */
  async #take(name: string, nest: Nest, process: Process, leases: readonly Lease[]): Promise<void> {
    const take = nest.takes[leases.length]
    if (!take) return sleep(process, this.#world.closing ? 1 : nest.workMs)
    const { waits } = this.#world
    let begun = false
    const part = { actor: name, ...partOf(take) }
    waits.begin(part, leases)
    try {
      await lockOf(this.#locks, take).run(
        async (lease) => {
          begun = true
          waits.end(name)
          waits.hold(part, lease)
          try {
            await this.#take(name, nest, process, [...leases, lease])
          } finally {
            waits.release(lease)
          }
        },
        { waitMs: take.waitMs },
      )
    } catch (error) {
      if (!begun && process.alive) {
        waits.end(name)
        if (isLockError(error) && error.code === 'DEADLOCK')
          waits.report(name, error as DeadlockError)
      }
      throw error
    }
  }

  #endure(name: string, error: unknown): void {
    if (isLockError(error) && (EXPECTED_CODES.includes(error.code) || error.code === 'DEADLOCK'))
      return
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.faults.push(`${name} met an error: ${text}`)
  }
}

function sleep(process: Process, ms: number): Promise<void> {
  return new Promise((resolve) => void process.timer(ms, resolve))
}

function partOf({ lock, write, weight }: Take): {
  lock: string
  weight: number
  capacity: number
} {
  if (lock === 'pool') return { lock, weight, capacity: PERMITS }
  const capacity = CAPACITY_ALL
  return { lock, weight: lock === 'page' && !write ? 1 : capacity, capacity }
}

function lockOf(locks: Locks, { lock, write, weight }: Take): Lockable {
  if (lock === 'pool') return locks.semaphore(lock, { permits: PERMITS }).withWeight(weight)
  if (lock !== 'page') return locks.mutex(lock)
  return write ? locks.readWriteLock(lock).write : locks.readWriteLock(lock).read
}
