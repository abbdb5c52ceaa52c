/** The suite's side of a worker: starts it, sends requests, and kills it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { WorkerCommand } from '../subject.js'
import type { Envelope, WorkerAnswer, WorkerRequest } from './protocol.js'

type Waiting = { resolve: (answer: WorkerAnswer) => void; reject: (error: Error) => void }

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #killed = false

  constructor({ command, args, env }: WorkerCommand) {
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    this.#exited = once(this.#child, 'exit')
    this.#child.on('error', (error) => this.#fail(error))
    this.#child.on('exit', () => this.#fail(new Error(this.died ?? 'The worker ended.')))
    // A write to a process that was just killed does not fail the test.
    this.#child.stdin?.on('error', () => undefined)
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line))
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** How it ended, if the suite did not kill it. */
  get died(): string | undefined {
    const { exitCode, signalCode } = this.#child
    if (this.#killed || (exitCode === null && signalCode === null)) return undefined
    return `Worker ${this.pid} ended by itself: ${signalCode ?? `exit code ${exitCode}`}.`
  }

  ask(body: WorkerRequest): Promise<WorkerAnswer> {
    this.#asked += 1
    const envelope: Envelope<WorkerRequest> = { id: this.#asked, body }
    const answer = new Promise<WorkerAnswer>((resolve, reject) => {
      this.#waiting.set(envelope.id, { resolve, reject })
    })
    // A killed worker rejects its open requests, and the test may not await them.
    answer.catch(() => undefined)
    this.#child.stdin?.write(`${JSON.stringify(envelope)}\n`)
    return answer
  }

  /** Continues it after `freeze`. */
  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** Resolves when the process is gone. */
  async kill(): Promise<void> {
    if (
      this.#child.exitCode === null &&
      this.#child.signalCode === null &&
      this.#child.pid !== undefined
    ) {
      this.#killed = true
      this.#child.kill('SIGKILL')
      await this.#exited
    }
  }

  #take(line: string): void {
    const { id, body } = JSON.parse(line) as Envelope<WorkerAnswer>
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (body.answer === 'error') waiting?.reject(new Error(body.message))
    else waiting?.resolve(body)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
