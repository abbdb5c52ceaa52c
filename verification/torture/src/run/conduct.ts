/**
 * One run of the library. It starts the private service and the clients, and lets the faults
 * happen. Then it heals everything, lets every waiter be served, closes the clients, and returns
 * its record. In any case nothing is left running and no file stays.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterLastEvents, parseHistory, type HistoryEvent } from '@holdfast/conformance'
import {
  BLOCKED_AT_MOST_TTLS,
  needNetwork,
  type AnyFaultKind,
  type Fault,
} from '@holdfast/stores/faults/catalogue'
import { drawPlan } from '../faults/plan.js'
import type { BlockTerms, Note } from '../protocol.js'
import { Resource } from '../resource.js'
import { storeOf } from '@holdfast/stores'
import type { Target } from '@holdfast/stores/faults/target'
import { Chronicle, now } from './chronicle.js'
import { ClientProcess } from './client-process.js'
import { findGhosts, type Ghost } from './ghosts.js'
import { HandOvers } from './hand-overs.js'
import {
  inFolder,
  Interrupted,
  toolsOf,
  type Outcome,
  type Progress,
  type Run,
  type RunOptions,
} from './run.js'
import { FaultSchedule } from './fault-schedule.js'
import { Wires } from './wires.js'

const ACTORS = 4
const CLOSE_MS = 20_000
const PROGRESS_EVERY_MS = 1000

export function conduct(options: RunOptions): Promise<Outcome> {
  return inFolder((folder) => new LibraryRun(options, folder))
}

class LibraryRun implements Run {
  readonly #options: RunOptions
  readonly #folder: string
  readonly #chronicle = new Chronicle()
  #clients: ClientProcess[] = []
  #handOvers = new HandOvers([])
  #target: Target | undefined
  #wires: Wires | undefined
  #resource: Resource | undefined
  #schedule: FaultSchedule | undefined
  #phase: Progress['phase'] = 'starting'
  #startMs = performance.now()

  constructor(options: RunOptions, folder: string) {
    this.#options = options
    this.#folder = folder
  }

  async conduct(): Promise<Outcome> {
    const { store, seconds, seed, kinds } = this.#options
    const { clients, servers, ttlMs, boundMs } = storeOf(store).torture
    const plan = drawPlan({ seed, seconds, kinds, clients, servers, ttlMs })
    const reporting = setInterval(() => this.#report(), PROGRESS_EVERY_MS)
    try {
      const target = await this.#begin()
      this.#assertGoesOn()
      this.#phase = 'torturing'
      this.#startMs = performance.now()
      const startNs = now()
      await this.#torture(plan, target)
      const healedNs = now()
      this.#phase = 'healed'
      const watchedNs = await this.#drain(boundMs)
      await this.#close()
      this.#assertGoesOn()
      const ghosts = await this.#ghosts(target)
      this.#phase = 'judging'
      this.#report()
      return {
        plan,
        chronicle: this.#chronicle,
        startNs,
        healedNs,
        watchedNs,
        ghosts,
        ...this.#read(),
      }
    } finally {
      clearInterval(reporting)
    }
  }

  /** Everything that was started ends, in the order in which one needs the other. */
  async end(): Promise<void> {
    this.#handOvers.end()
    for (const client of this.#clients) await client.kill()
    await this.#wires?.cut()
    await this.#resource?.close()
    await this.#target?.stop()
  }

  async #begin(): Promise<Target> {
    const { store, kinds } = this.#options
    const { clients, start } = storeOf(store).torture
    const target = (this.#target = await start({ kinds, newest: false }))
    const wires = (this.#wires = await Wires.lay(clients, target.nodes))
    this.#resource = await Resource.open(join(this.#folder, 'resource'))
    this.#assertGoesOn()
    this.#clients = Array.from({ length: clients }, (_, index) => {
      const connection = target.connection(wires.portsOf(index))
      return new ClientProcess(
        index,
        (place, generation) => this.#assignment(place, generation, connection),
        this.#chronicle,
      )
    })
    this.#handOvers = new HandOvers(this.#clients)
    await Promise.all(this.#clients.map((client) => client.start()))
    const [trouble] = this.#chronicle.troubles
    if (trouble) throw new Error(`The clients could not be started. ${trouble.message}`)
    return target
  }

  #assignment(index: number, generation: number, connection: ReturnType<Target['connection']>) {
    const { subject, store, copy, seed, kinds } = this.#options
    const name = `${index}-${generation}`
    return {
      subject,
      store,
      connection,
      ...(copy === undefined ? {} : { copy }),
      seed,
      index,
      generation,
      actors: store === 'memory' ? ACTORS * 3 : ACTORS,
      ttlMs: storeOf(store).torture.ttlMs,
      longHolds: needNetwork(kinds),
      late: kinds.includes('disk-stalled'),
      blocks: blockTerms(kinds, storeOf(store).torture.ttlMs),
      shares: kinds.includes('abandon'),
      waiters: Math.ceil((this.#options.waiters ?? 0) / storeOf(store).torture.clients),
      tolerated: kinds.flatMap((kind) => this.#target?.tolerated?.[kind] ?? []),
      history: join(this.#folder, `${name}.history.jsonl`),
      notes: join(this.#folder, `${name}.notes.jsonl`),
      resource: this.#resource?.path ?? '',
    }
  }

  async #torture(plan: readonly Fault[], target: Target): Promise<void> {
    const { signal, seconds } = this.#options
    const wires = this.#wires as Wires
    const tools = toolsOf(wires, this.#chronicle)
    const ground = { clients: this.#clients, wires, target, tools }
    this.#schedule = new FaultSchedule(plan, ground, this.#chronicle, signal)
    await this.#schedule.play(seconds)
    this.#assertGoesOn()
  }

  /** Begins nothing new. Every waiter must be served within the bound. */
  async #drain(boundMs: number): Promise<bigint> {
    for (const client of this.#clients) client.tell({ ask: 'drain' })
    await Promise.all(this.#clients.map((client) => client.said('drained', boundMs + 2000)))
    return now()
  }

  async #close(): Promise<void> {
    for (const client of this.#clients) client.tell({ ask: 'close' })
    const closed = await Promise.all(this.#clients.map((client) => client.said('closed', CLOSE_MS)))
    closed.forEach((did, index) => {
      if (!did && this.#clients[index]?.pid !== undefined) {
        this.#chronicle.trouble(`Client ${index} did not close within ${CLOSE_MS} ms.`)
      }
    })
  }

  #ghosts(target: Target): Promise<Ghost[]> {
    const { subject, store } = this.#options
    if (subject !== 'holdfast' || store === 'memory') return Promise.resolve([])
    const connection = target.connection(target.nodes.map(({ port }) => port))
    const excused = { pids: this.#chronicle.killed, claims: this.#handOvers.claims }
    return findGhosts(store, connection, excused)
  }

  #read(): { events: HistoryEvent[]; notes: Note[] } {
    const histories: (readonly HistoryEvent[])[] = []
    const notes: Note[] = []
    for (const name of readdirSync(this.#folder)) {
      const text = (): string => readFileSync(join(this.#folder, name), 'utf8')
      // A process that was killed while writing leaves its last line cut off.
      if (name.endsWith('.history.jsonl')) histories.push(parseHistory(text(), { cut: true }))
      if (name.endsWith('.notes.jsonl')) {
        const whole = text().split('\n').slice(0, -1)
        for (const line of whole) notes.push(JSON.parse(line) as Note)
      }
    }
    return {
      events: [...afterLastEvents(this.#chronicle.events, histories), ...histories.flat()],
      notes,
    }
  }

  #assertGoesOn(): void {
    if (this.#options.signal.aborted) throw new Interrupted('The run was interrupted.')
  }

  #report(): void {
    const sum = (of: (client: ClientProcess) => number): number =>
      this.#clients.reduce((total, client) => total + of(client), 0)
    this.#options.progress?.({
      phase: this.#phase,
      elapsedMs: performance.now() - this.#startMs,
      leases: sum(({ leases }) => leases),
      losses: sum(({ losses }) => losses),
      waiting: sum(({ waiting }) => waiting),
      faults: this.#chronicle.happenings.length,
      present: this.#schedule?.present ?? [],
    })
  }
}

function blockTerms(kinds: readonly AnyFaultKind[], ttlMs: number): BlockTerms | undefined {
  if (!kinds.includes('block')) return undefined
  const keeps = kinds.every((kind) => kind === 'block')
  return { blockedAtMostMs: BLOCKED_AT_MOST_TTLS * ttlMs, keeps }
}
