/**
 * One run of the torture over the command line: several `holdfast run` contend, each through
 * proxies of its own, and the commands hold files by flock(2). The faults of networks and servers
 * are those of the library's torture.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Dice } from '@holdfast/workload'
import type { HistoryEvent } from '@holdfast/conformance'
import type { Fault } from '@holdfast/stores/faults/catalogue'
import { inflict } from '../faults/inflict.js'
import { drawPlan } from '../faults/plan.js'
import { Chronicle, now } from '../run/chronicle.js'
import { findGhosts } from '../run/ghosts.js'
import {
  inFolder,
  Interrupted,
  toolsOf,
  type Outcome,
  type Progress,
  type Run,
  type RunOptions,
} from '../run/run.js'
import { FaultSchedule } from '../run/fault-schedule.js'
import { Wires } from '../run/wires.js'
import { storeOf } from '@holdfast/stores'
import type { Target } from '@holdfast/stores/faults/target'
import { meetHolders, RUN_FAULTS } from './faults.js'
import { historyOf } from './history.js'
import { programOf } from './mutations.js'
import { Contender } from './contender.js'
import { commandLineOf, isThere, processesWith, send } from './processes.js'
import type { RunRecord, RunWish, Witnessed } from './record.js'
import { shapeOf, type CommandLineShape } from './shape.js'
import { innerRunsOf } from './inner-runs.js'
import { argumentsOf, drawNestedWish, drawWish, longestHoldMs, stayMs } from './wish.js'
import { WitnessLog } from './witness-log.js'
import { Wrapper } from './wrapper.js'

const WITNESS = fileURLToPath(new URL('../../native/witness.sh', import.meta.url))
const OBSERVE_EVERY_MS = 15
const PROGRESS_EVERY_MS = 1000
/** Beyond what is promised, so that a breach differs from a hang. */
const EXTRA_WAIT_MS = 2000

export function conductCommandLine(options: RunOptions): Promise<Outcome> {
  return inFolder((folder) => new CommandLineRun(options, folder))
}

class CommandLineRun implements Run {
  readonly #options: RunOptions
  readonly #folder: string
  readonly #shape: CommandLineShape
  readonly #chronicle = new Chronicle()
  readonly #log: WitnessLog
  #contenders: Contender[] = []
  #target: Target | undefined
  #wires: Wires | undefined
  #schedule: FaultSchedule | undefined
  #phase: Progress['phase'] = 'starting'
  #startMs = performance.now()

  constructor(options: RunOptions, folder: string) {
    this.#options = options
    this.#folder = folder
    this.#shape = shapeOf(options.store)
    this.#log = new WitnessLog(folder)
  }

  async conduct(): Promise<Outcome> {
    const { store, seconds, seed, kinds } = this.#options
    const { contenders, ttlMs } = this.#shape
    const plan = drawPlan({
      seed,
      seconds,
      kinds,
      clients: contenders,
      servers: storeOf(store).torture.servers,
      ttlMs,
    })
    const timers = [
      setInterval(() => this.#observe(), OBSERVE_EVERY_MS),
      setInterval(() => this.#report(), PROGRESS_EVERY_MS),
    ]
    try {
      const target = await this.#begin()
      this.#assertGoesOn()
      this.#phase = 'torturing'
      this.#startMs = performance.now()
      const startNs = now()
      await this.#torture(plan, target)
      const healedNs = now()
      this.#phase = 'healed'
      await this.#drain()
      const watchedNs = now()
      const leftOver = await this.#leftOver()
      const excused = { pids: this.#chronicle.killed, claims: new Set<string>() }
      const ghosts = await findGhosts(store, this.#directly(target), excused)
      this.#assertGoesOn()
      this.#phase = 'judging'
      this.#report()
      this.#log.read()
      const { lines } = this.#log
      const runs = this.#runs
      const witnessed = { runs: [...runs, ...innerRunsOf(runs, lines)], lines, leftOver }
      const events = this.#events(witnessed)
      const times = { startNs, healedNs, watchedNs }
      return { plan, chronicle: this.#chronicle, events, notes: [], ghosts, witnessed, ...times }
    } finally {
      for (const timer of timers) clearInterval(timer)
    }
  }

  /** Ends everything that was started, in any state. */
  async end(): Promise<void> {
    const ended = this.#contenders.map((contender) => contender.end())
    for (const { wrapper } of this.#contenders) wrapper?.kill('wrapper')
    await Promise.all(ended)
    for (const name of this.#processes()) if (isThere(name)) send(name.pid, 'SIGKILL')
    this.#log.close()
    await this.#wires?.cut()
    await this.#target?.stop()
  }

  async #begin(): Promise<Target> {
    this.#makeUselessTools()
    const { store, seed, kinds } = this.#options
    const { contenders, nested, ttlMs, newest, counts, findsDeadlocks } = this.#shape
    const { start, url: urlOf } = storeOf(store).torture
    if (!urlOf) throw new Error(`The command line is not tried on ${store}.`)
    const target = (this.#target = await start({ kinds, newest }))
    const wires = (this.#wires = await Wires.lay(contenders + nested, target.nodes))
    this.#assertGoesOn()
    this.#contenders = Array.from({ length: contenders + nested }, (_, index) => {
      const url = urlOf(target.connection(wires.portsOf(index)))
      return new Contender({
        index,
        dice: Dice.named(seed, `place ${index}`),
        draw: (dice) =>
          index < contenders
            ? drawWish(dice, ttlMs, counts)
            : drawNestedWish(dice, !findsDeadlocks),
        start: (id, wish) => this.#startRun(id, wish, url),
        entered: (id) => this.#log.entered(id),
        stay: (id) => this.#stay(id),
      })
    })
    for (const contender of this.#contenders) contender.begin()
    return target
  }

  #startRun(id: string, wish: RunWish, url: string): Wrapper {
    const program = programOf(this.#options.copy)
    const site = { script: WITNESS, folder: this.#folder, program }
    return new Wrapper({
      id,
      wish,
      program,
      args: argumentsOf(id, wish, url, this.#shape.ttlMs, site),
      env: this.#env(),
      chronicle: this.#chronicle,
    })
  }

  #stay(id: string): void {
    const file = join(this.#folder, `stay.${id}`)
    writeFileSync(file, '')
    setTimeout(() => rmSync(file, { force: true }), stayMs(this.#shape.ttlMs)).unref()
  }

  /**
   * The guardian takes only PATH from the wrapper, so that the mark by which all are found is
   * there. The tools that come first in it do nothing: neither wrapper nor guardian may need them.
   */
  #env(): NodeJS.ProcessEnv {
    const usual = process.env['PATH'] ?? '/usr/bin:/bin'
    const useless = join(this.#folder, 'useless')
    return {
      ...process.env,
      PATH: `${useless}:${usual}:${this.#folder}/mark`,
      WITNESS_PATH: `${usual}:${this.#folder}/mark`,
    }
  }

  #makeUselessTools(): void {
    const folder = join(this.#folder, 'useless')
    mkdirSync(folder)
    for (const tool of ['cat', 'env', 'kill', 'ps', 'sh', 'sleep'])
      writeFileSync(join(folder, tool), '#!/bin/sh\n', { mode: 0o755 })
  }

  async #torture(plan: readonly Fault[], target: Target): Promise<void> {
    const { signal, seconds } = this.#options
    const wires = this.#wires as Wires
    const tools = toolsOf(wires, this.#chronicle)
    const ground = { clients: this.#contenders, wires, target, tools }
    const own = {
      ...Object.fromEntries(
        Object.entries(RUN_FAULTS).map(([kind, drive]) => [
          kind,
          (fault: Fault) => drive(fault, this.#contenders),
        ]),
      ),
      'black-hole': async (fault: Fault) => {
        await meetHolders(fault, this.#contenders)
        return inflict(fault, ground)
      },
    }
    this.#schedule = new FaultSchedule(plan, { ...ground, own }, this.#chronicle, signal)
    await this.#schedule.play(seconds)
    this.#assertGoesOn()
  }

  /**
   * No more runs are started; those that are there must end within the bound, each after those
   * before it.
   */
  async #drain(): Promise<void> {
    const { boundMs, ttlMs } = this.#shape
    const mostMs = boundMs + this.#contenders.length * longestHoldMs(ttlMs) + EXTRA_WAIT_MS
    await Promise.race([
      Promise.all(this.#contenders.map((contender) => contender.end())),
      sleep(mostMs),
    ])
  }

  /** A command without a guardian works to its own end. */
  async #leftOver(): Promise<string[]> {
    const { ttlMs } = this.#shape
    const endMs = performance.now() + ttlMs + longestHoldMs(ttlMs) + EXTRA_WAIT_MS
    for (;;) {
      const found = this.#processes()
      if (found.length === 0 || performance.now() > endMs)
        return found.map(({ pid }) => commandLineOf(pid))
      await sleep(100)
    }
  }

  #processes(): ReturnType<typeof processesWith> {
    return processesWith(`${this.#folder}/mark`).filter(({ pid }) => pid !== process.pid)
  }

  #directly(target: Target): ReturnType<Target['connection']> {
    return target.connection(target.nodes.map(({ port }) => port))
  }

  get #runs(): RunRecord[] {
    return this.#contenders.flatMap(({ runs }) => runs)
  }

  #events(witnessed: Witnessed): HistoryEvent[] {
    return [...historyOf(witnessed), ...this.#chronicle.events]
  }

  #observe(): void {
    this.#log.read()
    for (const { wrapper } of this.#contenders) wrapper?.observe()
  }

  #assertGoesOn(): void {
    if (this.#options.signal.aborted) throw new Interrupted('The run was interrupted.')
  }

  #report(): void {
    this.#options.progress?.({
      phase: this.#phase,
      elapsedMs: performance.now() - this.#startMs,
      leases: this.#log.enteredCount,
      losses: this.#runs.filter(({ code }) => code === LOST).length,
      waiting: this.#contenders.filter(({ waiting }) => waiting).length,
      faults: this.#chronicle.happenings.length,
      present: this.#schedule?.present ?? [],
    })
  }
}

/** What a run exits with whose lock was lost. */
const LOST = 74
