/**
 * Private servers for tests: each on free loopback ports, with its files in a temporary folder,
 * stopped by its pid.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mountMemory, unmountIn } from './disk.js'
import { eventually } from './eventually.js'

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

const mourners = new Set<(death: Death) => void>()

/**
 * Calls back when a server that has answered ends by itself. Returns a function that cancels the
 * call.
 */
export function onDeath(mourner: (death: Death) => void): () => void {
  mourners.add(mourner)
  return () => mourners.delete(mourner)
}

const running = new Set<Service>()
const folders = new Set<string>()
// A run that ends by an exception, or in the middle of a start, must leave neither servers nor
// their files behind.
process.on('exit', () => {
  for (const service of running) service.kill('SIGKILL')
  for (const folder of [...folders]) removeFolder(folder)
})

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
    const child = spawn(command, args, {
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
        for (const mourner of mourners) mourner({ name, output: this.#output })
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

function childrenOf(parent: number): number[] {
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) =>
    /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
  )
}

/** A zombie, whose parent has not collected it yet, holds nothing any more. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function killIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * A folder of its own for a server.
 * @param diskMb on a disk of its own of this size, which needs root
 */
export function makeFolder(name: string, diskMb?: number): string {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  folders.add(folder)
  if (diskMb !== undefined) mountMemory(folder, diskMb)
  return folder
}

/** A folder in another one. @param uid whose it is, if not our own */
export function makeFolderOf(parent: string, name: string, uid: number | undefined): string {
  const folder = join(parent, name)
  mkdirSync(folder, { mode: 0o700 })
  if (uid !== undefined) {
    chmodSync(parent, 0o711)
    chownSync(folder, uid, uid)
  }
  return folder
}

export function removeFolder(folder: string): void {
  unmountIn(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.delete(folder)
}

/** Below this, ports are likely to have a meaning. */
const FIRST_PORT = 10_240
const FEWEST_PORTS = 2000

/**
 * Free ports on 127.0.0.1: all looked up together, so that they differ. They lie
 * below those that the system gives to connections, one of which could otherwise take the port
 * before the server does, or while it is restarted.
 */
export async function freePorts(count: number): Promise<number[]> {
  const endPort = firstOfConnections()
  const holders: Server[] = []
  while (holders.length < count) {
    const wanted = endPort - FIRST_PORT < FEWEST_PORTS ? 0 : randomInt(FIRST_PORT, endPort)
    const holder = await listenOn(wanted)
    if (holder) holders.push(holder)
  }
  return Promise.all(
    holders.map(async (holder) => {
      const { port } = holder.address() as AddressInfo
      await new Promise((resolve) => void holder.close(resolve))
      return port
    }),
  )
}

/** The first port that the system gives to connections. */
function firstOfConnections(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0])
  } catch {
    // Not Linux: any port will do.
    return 0
  }
}

/** Undefined when the port is taken. */
function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Whether a process listens on a port. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
