/**
 * A real server for the tests: a process of its own, in a temporary folder of its own, on the loopback interface.
 *
 * It is ended by its process id, and its folder goes with it. What a server is started with, and how to tell that it is
 * ready, is in the file of each kind.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  /** The folder that the process starts in. */
  readonly cwd: string
}

/** How long a server may take until it is ready, in milliseconds. */
const READY_LIMIT_MS = 15_000
const LOOK_EVERY_MS = 10
/** So much of what a server printed is shown when it fails. */
const OUTPUT_KEPT = 4000

/** Every process that is still running, so that none is left behind when the tests end in the middle. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export class Server {
  readonly #command: ServerCommand
  readonly #isReady: () => Promise<boolean>
  #child: ChildProcess | undefined
  #output = ''

  /** @param isReady asked again and again after a start, until it says yes */
  constructor(command: ServerCommand, isReady: () => Promise<boolean>) {
    this.#command = command
    this.#isReady = isReady
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error(`${this.#command.command} is not running.`)
    return pid
  }

  /** Starts the process and waits until it is ready. */
  async start(): Promise<void> {
    const { command, args, cwd } = this.#command
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.#output = ''
    running.add(child)
    child.once('exit', () => running.delete(child))
    let failure: string | undefined
    child.once('error', (error) => (failure = error.message))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk).slice(-OUTPUT_KEPT)))
    }
    const giveUpMs = performance.now() + READY_LIMIT_MS
    while (!(await this.#isReady())) {
      if (child.exitCode !== null || child.signalCode !== null) failure ??= 'it ended'
      if (performance.now() > giveUpMs) failure ??= `it was not ready within ${READY_LIMIT_MS} ms`
      if (failure !== undefined) {
        await this.kill()
        throw new Error(`${command} did not start: ${failure}\n${this.#output}`)
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  /** Ends the process without notice. Resolves when it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    await gone
  }

  /** Stops the process in its tracks, connections open, until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }
}

/** A folder for a server, and what removes it. */
export function makeServerFolder(name: string): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
