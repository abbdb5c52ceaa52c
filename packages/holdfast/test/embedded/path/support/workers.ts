/** Processes that lock paths: of other users, in other folders, in other namespaces. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { after } from '../../support/world.js'

export interface Place {
  readonly uid?: number
  readonly gid?: number
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** A program and its arguments, in front of the one of this process. */
  readonly under?: readonly string[]
}

export type Answer = Readonly<Record<string, unknown>>

export class PathWorker {
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  readonly #ready: Promise<unknown>
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #next = 0

  constructor({ under = [], ...options }: Place = {}) {
    const script = join(import.meta.dirname, 'worker.mjs')
    const [command, ...args] = [...under, process.execPath, script]
    this.process = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
    this.process.stdin.on('error', () => undefined) // it was killed
    const lines = createInterface({ input: this.process.stdout })
    this.#ready = once(lines, 'line')
    lines.on('line', (line) => {
      const { id, answer } = JSON.parse(line) as { id?: number; answer: Answer }
      if (id !== undefined) this.#waiting.get(id)?.(answer)
    })
    after(() => this.kill())
  }

  async ask(verb: string, rest: object = {}): Promise<Answer> {
    await this.#ready
    this.#next += 1
    const id = this.#next
    const answered = new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, resolve)
      this.process.once('exit', () => reject(new Error('the worker ended')))
    })
    // Who kills a worker does not wait for its answer.
    answered.catch(() => undefined)
    this.process.stdin.write(`${JSON.stringify({ id, verb, ...rest })}\n`)
    return answered
  }

  /** Resolves when the process is gone; `kill` itself only asks for it. */
  async kill(): Promise<void> {
    const { process: child } = this
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}
