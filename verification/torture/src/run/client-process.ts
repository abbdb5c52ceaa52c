/**
 * The conductor's side of a client: one place among those that contend, and the process that fills
 * it at the moment.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Fault } from '@holdfast/stores/faults/catalogue'
import type { Assignment, FromClient, ToClient } from '../protocol.js'
import { now, type Chronicle, type Stop } from './chronicle.js'

const MAIN = fileURLToPath(new URL('../client/main.js', import.meta.url))
const KEPT_OUTPUT = 4000
const READY_MS = 20_000
const HOLDING_MS = 300
/** Exports are rarer than holds. */
const EXPORTING_MS = 2000
/** How long a process takes at most to wake from a block that is over. */
const WAKING_MS = 5000

export type Assign = (index: number, generation: number) => Assignment

export class ClientProcess {
  readonly index: number
  /** Of all processes that stood here. */
  leases = 0
  losses = 0
  waiting = 0
  /** Hears of each lease that the process exports. */
  whenExported: (message: Extract<FromClient, { said: 'exported' }>) => void = () => undefined
  readonly #assign: Assign
  readonly #chronicle: Chronicle
  #generation = 0
  #child: ChildProcess | undefined
  #exited: Promise<unknown> = Promise.resolve()
  #stop: Stop | undefined
  #stopping: NodeJS.Timeout | undefined
  #output = ''
  #expectedToEnd = false
  #before = { leases: 0, losses: 0 }
  readonly #said = new Set<FromClient['said']>()
  #changed: () => void = () => undefined

  constructor(index: number, assign: Assign, chronicle: Chronicle) {
    this.index = index
    this.#assign = assign
    this.#chronicle = chronicle
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get stopped(): boolean {
    return this.#stop !== undefined
  }

  /** Starts a process, and resolves when its actors are at work. */
  async start(): Promise<void> {
    const assignment = this.#assign(this.index, this.#generation)
    this.#generation += 1
    this.#before = { leases: this.leases, losses: this.losses }
    this.#expectedToEnd = false
    this.#said.clear()
    const child = spawn(process.execPath, [MAIN, JSON.stringify(assignment)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child = child
    this.#exited = once(child, 'exit').then(([code, signal]) => this.#onExit(child, code, signal))
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT)
      })
    }
    // A message to a process that was killed just now.
    child.on('error', () => undefined)
    child.on('message', (message: FromClient) => this.#hear(message))
    await this.said('ready', READY_MS)
  }

  /** Whether it said this within a time. Also resolves when it ends. */
  async said(what: FromClient['said'], withinMs: number): Promise<boolean> {
    const endMs = performance.now() + withinMs
    while (!this.#said.has(what) && this.#child) {
      const leftMs = endMs - performance.now()
      if (leftMs <= 0) return false
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#changed = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.#said.has(what)
  }

  tell(message: ToClient): void {
    if (message.ask === 'close') this.#expectedToEnd = true
    if (this.#child?.connected === true) this.#child.send(message, () => undefined)
  }

  /**
   * Resolves when one of its actors holds a lock for itself alone, or after a while: faults are to
   * meet holders.
   */
  async holding(): Promise<void> {
    this.#said.delete('holding')
    this.tell({ ask: 'holding' })
    await this.said('holding', HOLDING_MS)
  }

  async exporting(): Promise<void> {
    this.#said.delete('exported')
    await this.said('exported', EXPORTING_MS)
  }

  /** Lets the process block its event loop. Some faults stop it meanwhile. */
  block({ forMs, byMs }: Fault): void {
    this.#said.delete('woke')
    this.tell({ ask: 'block', forMs, byMs })
    if (byMs > 0) this.#stopping = setTimeout(() => this.pause(), byMs)
  }

  async woke(): Promise<void> {
    clearTimeout(this.#stopping)
    this.resume()
    await this.said('woke', WAKING_MS)
  }

  pause(): void {
    if (this.#stop || this.pid === undefined) return
    this.#stop = this.#chronicle.stop(this.pid)
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    if (!this.#stop) return
    this.#stop.endNs = now()
    this.#stop = undefined
    this.#child?.kill('SIGCONT')
  }

  /**
   * Resolves when the process is gone. Written down just before the signal: what it did in between
   * is not held against it.
   */
  async kill(): Promise<void> {
    if (!this.#child || this.pid === undefined) return
    this.#expectedToEnd = true
    clearTimeout(this.#stopping)
    this.#chronicle.kill(this.pid)
    this.#child.kill('SIGKILL')
    await this.#exited
    this.#stop = undefined
  }

  #hear(message: FromClient): void {
    this.#said.add(message.said)
    if (message.said === 'exported') this.whenExported(message)
    if (message.said === 'count') {
      this.leases = this.#before.leases + message.leases
      this.losses = this.#before.losses + message.losses
      this.waiting = message.waiting
    }
    this.#changed()
  }

  #onExit(child: ChildProcess, code: unknown, signal: unknown): void {
    if (this.#child === child) this.#child = undefined
    this.waiting = 0
    if (!this.#expectedToEnd) {
      if (child.pid !== undefined) this.#chronicle.kill(child.pid)
      const why = `Client ${this.index} ended by itself (${String(code ?? signal)}). It said:\n${this.#output}`
      this.#chronicle.trouble(why)
    }
    this.#changed()
  }
}
