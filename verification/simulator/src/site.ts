/**
 * The place of one process: its machine, its network, and the processes that live there one after
 * the other.
 */
import type { Case } from './case.js'
import type { Site as FaultySite } from './faults/apply.js'
import type { Runtime } from './runtime.js'
import { HelpedClient } from './helper/helped-locks.js'
import { judgeKept, judgeWaking } from './helper/watch.js'
import { keepsEntries } from './server/models.js'
import type { Access, Service } from './server/service.js'
import { Dice, type Heir } from '@holdfast/workload'
import type { Chronicle } from './workload/chronicle.js'
import type { Circumstances } from './workload/circumstances.js'
import type { Claimants } from './workload/claimants.js'
import { Client } from './workload/client.js'
import type { FencedCounters } from './workload/fenced-counter.js'
import type { Exported, HandOvers } from './workload/hand-overs.js'
import { ScriptedActor } from './workload/scripted-actor.js'
import type { Agenda } from './world/agenda.js'
import { Link } from './world/link.js'
import { MachineClock, type ClockErrors } from './world/machine-clock.js'
import { Process } from './world/process.js'

/** What all sites of a run share. */
export interface Ground {
  readonly plan: Case
  readonly runtime: Runtime
  readonly agenda: Agenda
  readonly server: Service
  readonly chronicle: Chronicle
  readonly counters: FencedCounters
  readonly circumstances: Circumstances
  readonly claimants: Claimants
  readonly handOvers: HandOvers
  nextPid: number
}

export class Site implements FaultySite {
  readonly clock: MachineClock
  readonly links: readonly [Link, ...Link[]]
  readonly #ground: Ground
  readonly #index: number
  #generation = 0
  #process!: Process
  #client!: Client
  #access!: Access
  #helped: HelpedClient | undefined
  #isStopped = false
  #isBlocked = false
  /** When the machine fell asleep first, while the event loop stood. */
  #asleepSinceMs: number | undefined
  #dice!: Dice
  #actors: ScriptedActor[] = []
  /** Callers that adopt a lease. They die with their process. */
  #heirs = new Set<string>()

  constructor(ground: Ground, index: number, clock: ClockErrors) {
    const { agenda, plan } = ground
    this.#ground = ground
    this.#index = index
    this.clock = new MachineClock(agenda, clock)
    const link = (name: string): Link => new Link(agenda, Dice.named(plan.seed, name), plan.lanes)
    this.links = [
      link(`link ${index}`),
      ...plan.serverClocks.slice(1).map((_, node) => link(`link ${index}.${node + 1}`)),
    ]
    this.#start()
    const scripts = plan.actors.filter(({ process }) => process === index)
    this.#employ(scripts.map((script) => new ScriptedActor(script, this.#client)))
  }

  /** Whether its threads run. Its event loop may be blocked. */
  get runs(): boolean {
    return this.#process.alive && !this.#isStopped
  }

  get client(): Client {
    return this.#client
  }

  get process(): Process {
    return this.#process
  }

  get actors(): readonly ScriptedActor[] {
    return this.#actors
  }

  /** Those that have not come to their end. */
  get busy(): string[] {
    const actors = this.#actors.filter(({ done }) => !done).map(({ script }) => script.name)
    return [...actors, ...this.#heirs]
  }

  /** The handle of an exported lease arrives. */
  adopt(name: string, exported: Exported, heir: Heir): void {
    const [client, heirs] = [this.#client, this.#heirs]
    this.#process.receive(() => {
      if (client.closing) return
      heirs.add(name)
      void client.adopt(name, exported, heir).then(() => heirs.delete(name))
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#helped?.thread.process.stop()
    this.#process.stop()
  }

  resume(sleptSinceMs?: number): void {
    this.#asleepSinceMs ??= sleptSinceMs
    this.#isStopped = false
    const [process, dice] = [this.#process, this.#dice]
    const { agenda } = this.#ground
    // Either thread has its turn first.
    if (!this.#helped || dice.chance(0.5)) this.#wake(process)
    else agenda.afterEvent(() => this.#wake(process))
    this.#helped?.thread.process.resume()
  }

  block(): () => void {
    const process = this.#process
    this.#isBlocked = true
    process.stop()
    return () => {
      if (this.#process !== process) return
      this.#isBlocked = false
      this.#wake(process)
    }
  }

  endThread(): void {
    if (this.runs) this.#helped?.thread.end()
  }

  #wake(process: Process): void {
    if (this.#process !== process || this.#isStopped || this.#isBlocked) return
    const client = this.#client
    const sleptSinceMs = this.#asleepSinceMs
    this.#asleepSinceMs = undefined
    process.onWake = () => {
      const before = [...client.beliefs].filter(({ isOver }) => !isOver)
      client.woke(sleptSinceMs)
      if (!this.#helped) return
      const { rules, thread } = this.#helped
      judgeWaking(before, rules)
      if (this.#ground.plan.faults.every(({ kind }) => kind === 'block'))
        judgeKept(before, rules, (claimId) => thread.knows(claimId))
    }
    process.resume()
  }

  kill(): void {
    this.#process.kill()
    this.#helped?.thread.process.kill()
    this.#heirs = new Set()
    this.#ground.chronicle.note(this.#process.pid, this.#process.name, {
      f: 'kill',
      type: 'info',
      key: '',
    })
  }

  resetConnections(node?: number): void {
    this.#access.reset(node)
    this.#helped?.access.reset(node)
  }

  /**
   * The operation at which an actor was killed is over; its successor starts with the next one.
   */
  revive(): void {
    this.#start()
    this.#employ(
      this.#actors
        .filter(({ done }) => !done)
        .map(({ script, position }) => new ScriptedActor(script, this.#client, position)),
    )
  }

  #start(): void {
    const { agenda, plan, server, runtime, chronicle, counters, circumstances } = this.#ground
    const { claimants, handOvers } = this.#ground
    const name = `p${this.#index}`
    const dice = Dice.named(plan.seed, `process ${this.#index}.${this.#generation}`)
    this.#generation += 1
    this.#ground.nextPid += 1
    const process = new Process(name, this.#ground.nextPid, agenda, this.clock, dice)
    this.#process = process
    this.#dice = dice
    this.#isBlocked = false
    const { requestTimeoutMs } = plan
    this.#access = server.open({ process, links: this.links, dice, requestTimeoutMs, claimants })
    const helped = this.#startThread()
    this.#helped = helped
    this.#client = new Client({
      createLocks: helped
        ? (store, options) => helped.createLocks(store, options ?? {})
        : runtime.createLocks,
      agenda,
      process,
      store: this.#access.store,
      chronicle,
      counters,
      dice,
      circumstances,
      claimants,
      handOvers,
      serverHolds: (claimId) => server.truth.holds(claimId),
      ttlMs: plan.ttlMs,
      keepsEntries: keepsEntries(plan.store),
      awaitRelease: plan.awaitRelease,
    })
  }

  #startThread(): HelpedClient | undefined {
    const { agenda, plan, server, runtime, circumstances, claimants } = this.#ground
    const { blockedAtMostMs, ttlMs, requestTimeoutMs, seed } = plan
    if (blockedAtMostMs === undefined) return undefined
    const main = this.#process
    const dice = Dice.named(seed, `thread ${this.#index}.${this.#generation}`)
    const process = new Process(`${main.name}.thread`, main.pid, agenda, this.clock, dice)
    return new HelpedClient({
      runtime,
      agenda,
      customer: { process, links: this.links, dice, requestTimeoutMs, claimants },
      open: (customer) => server.open(customer),
      dice,
      rules: { main, claimants, circumstances, ttlMs, blockedAtMostMs },
    })
  }

  #employ(actors: ScriptedActor[]): void {
    this.#actors = actors
    for (const actor of actors) void actor.run()
  }
}
