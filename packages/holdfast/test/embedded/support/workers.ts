/** Worker processes, and what they answered. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from './world.js'

interface Message {
  readonly id?: number
  readonly answer?: Record<string, unknown>
  readonly error?: string
  readonly ready?: true
  readonly double?: readonly number[]
}

export class Worker {
  readonly process: ChildProcessWithoutNullStreams
  readonly ready: Promise<void>
  /** Two processes that worked at the same time, if ever. */
  readonly doubles: (readonly number[])[] = []
  readonly #waiting = new Map<number, (message: Message) => void>()
  #next = 0

  /** @param heartbeats `seldom`: its waiters ask by themselves only after several seconds */
  constructor(directory: string, heartbeats: 'usual' | 'seldom' = 'usual') {
    const script = join(import.meta.dirname, 'worker.mjs')
    this.process = spawn(process.execPath, [script, directory, heartbeats], { stdio: 'pipe' })
    this.process.stdin.on('error', () => undefined) // it was killed
    this.process.stderr.pipe(process.stderr)
    const lines = createInterface({ input: this.process.stdout })
    this.ready = new Promise((resolve, reject) => {
      this.process.once('exit', () => reject(new Error('the worker ended')))
      lines.on('line', (line) => {
        const message = JSON.parse(line) as Message
        if (message.ready) resolve()
        if (message.double) this.doubles.push(message.double)
        if (message.id !== undefined) this.#waiting.get(message.id)?.(message)
      })
    })
    this.ready.catch(() => undefined)
    after(() => this.kill())
  }

  async ask(verb: string, rest: object = {}): Promise<Record<string, unknown>> {
    await this.ready
    this.#next += 1
    const id = this.#next
    const answered = new Promise<Message>((resolve) => void this.#waiting.set(id, resolve))
    this.process.stdin.write(`${JSON.stringify({ id, verb, ...rest })}\n`)
    const { answer, error } = await answered
    if (answer === undefined) throw new Error(error)
    return answer
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
