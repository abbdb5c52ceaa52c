/**
 * Private servers for tests: each on free loopback ports (`ports.ts`), with its files in a
 * temporary folder (`folders.ts`), stopped by its pid.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from './eventually.js'
import { removeFolders } from './folders.js'
import { childrenOf, isAlive, isStopped, killIfThere } from './processes.js'

/** How to start a server. */
export interface ServiceCommand {
  /** Stands in messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly uid?: number
  readonly gid?: number
  /** Resolves to whether the server answers. Asked again and again; may throw while it does not. */
  readonly ready: () => Promise<boolean>
  /** How long it may take to answer, in milliseconds. Default 20 000. */
  readonly readyMs?: number
}

/** How much of a server's last output is kept, for the message when it does not start. */
const KEPT_OUTPUT = 4000
const STOP_MS = 10_000

/** A server that ended though the harness had not stopped it. */
export interface Death {
  readonly name: string
  /** What it printed last. */
  readonly output: string
}

const deathListeners = new Set<(death: Death) => void>()

/**
 * Calls back when a server that has answered ends by itself. Returns a function that cancels the
 * call.
 */
export function onDeath(listener: (death: Death) => void): () => void {
  deathListeners.add(listener)
  return () => deathListeners.delete(listener)
}

const running = new Set<Service>()
// A run that ends by an exception, or in the middle of a start, must leave neither servers nor
// their files behind.
process.on('exit', () => {
  for (const service of running) service.kill('SIGKILL')
  removeFolders()
})

/** Of util-linux, which every Debian has. */
const SETPRIV = '/usr/bin/setpriv'

/**
 * Lets the kernel kill the server when this process ends. A process that is killed, as a runner
 * does to a hanging test file, ends without the handler above.
 */
function endingWithParent(command: string, args: readonly string[]): [string, string[]] {
  if (!existsSync(SETPRIV)) return [command, [...args]]
  return [SETPRIV, ['--pdeathsig', 'KILL', command, ...args]]
}

export class Service {
  readonly #command: ServiceCommand
  #child: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()
  #output = ''
  /** Whether its end would be a surprise. */
  #expectedToRun = false

  constructor(command: ServiceCommand) {
    this.#command = command
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error(`${this.#command.name} does not run.`)
    return pid
  }

  /** What it printed last. */
  get output(): string {
    return this.#output
  }

  /** Starts it and waits until it answers. Also starts it again after it was stopped or killed. */
  async start(): Promise<this> {
    const { name, command, args, env, uid, gid } = this.#command
    const child = spawn(...endingWithParent(command, args), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    })
    this.#child = child
    running.add(this)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT)
      })
    }
    this.#exited = new Promise<void>((resolve) => {
      child.once('error', (error) => {
        this.#output += String(error)
        resolve()
      })
      child.once('exit', () => resolve())
    }).then(() => {
      running.delete(this)
      if (this.#child === child) this.#child = undefined
      if (this.#expectedToRun)
        for (const listener of deathListeners) listener({ name, output: this.#output })
      this.#expectedToRun = false
    })
    if (child.pid === undefined) await this.#exited
    await this.#untilReady()
    this.#expectedToRun = this.#child === child
    return this
  }

  get running(): boolean {
    return this.#child !== undefined
  }

  /**
   * Stops all its threads, its connections open, until `resume`. Resolves when none runs any more:
   * one thread takes the signal, and on a busy machine the others run on until it gets a processor.
   */
  async pause(): Promise<void> {
    const { pid } = this
    this.kill('SIGSTOP')
    await eventually(`all threads of ${this.#command.name} are stopped`, () => isStopped(pid))
  }

  resume(): void {
    this.kill('SIGCONT')
  }

  /** Sends a signal. `SIGSTOP` takes effect some time later: `pause` waits for it. */
  kill(signal: NodeJS.Signals): void {
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') this.#expectedToRun = false
    this.#child?.kill(signal)
  }

  /** Sends a signal to its own processes as well: PostgreSQL has one for each connection. */
  killFamily(signal: NodeJS.Signals): void {
    if (!this.#child) return
    this.kill(signal)
    for (const pid of childrenOf(this.pid)) killIfThere(pid, signal)
  }

  /**
   * Kills it and its own processes, and waits until all are gone: PostgreSQL does not start beside
   * what is left of it.
   */
  async crash(): Promise<void> {
    // Stopped first, so that it has no more of them, and does nothing about the end of any.
    this.kill('SIGSTOP')
    const family = this.#child ? childrenOf(this.pid) : []
    this.kill('SIGKILL')
    for (const pid of family) killIfThere(pid, 'SIGKILL')
    await this.#exited
    while (family.some(isAlive)) await sleep(5)
  }

  /** Ends it, by force when it does not go in time. */
  async stop(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.kill('SIGTERM')
    child.kill('SIGCONT')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await this.#exited
    clearTimeout(timer)
  }

  async #untilReady(): Promise<void> {
    const { name, ready, readyMs = 20_000 } = this.#command
    const endMs = performance.now() + readyMs
    for (;;) {
      if (!this.#child)
        throw new Error(`${name} ended before it was ready. It said:\n${this.#output}`)
      if (await ready().catch(() => false)) return
      if (performance.now() > endMs) {
        throw new Error(`${name} did not answer within ${readyMs} ms. It said:\n${this.#output}`)
      }
      await sleep(20)
    }
  }
}
