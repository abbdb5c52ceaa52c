/** A process of one version: starts it, asks it, kills it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface LockRequest {
  readonly kind: 'mutex' | 'reader' | 'writer' | 'semaphore'
  readonly name: string
  readonly ttlMs: number
  readonly fairness?: 'fifo'
}

export interface Contender {
  readonly lock: LockRequest
  readonly weight: number
  readonly capacity: number
}

export type Request =
  | {
      readonly ask: 'acquire'
      readonly as: string
      readonly lock: LockRequest
      readonly waitMs: number
    }
  | { readonly ask: 'release' | 'held'; readonly as: string }
  | {
      readonly ask: 'contend'
      readonly history: string
      readonly contenders: readonly Contender[]
      readonly workMs: number
    }
  | { readonly ask: 'stop' }

export interface Answer {
  readonly held?: boolean
  readonly token?: string
  readonly outcome?: string
  /** Of an error of Holdfast. */
  readonly code?: string
  readonly message?: string
  /** An error that is none of Holdfast. */
  readonly error?: string
}

export class VersionProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #asked = 0

  /** @param folder where `holdfast` is the version that is wanted */
  constructor(folder: string, worker: string, args: readonly string[]) {
    const stdio = ['pipe', 'pipe', 'inherit'] as const
    this.#child = spawn(process.execPath, [worker, ...args], { cwd: folder, stdio: [...stdio] })
    this.#child.on('exit', (code, signal) => {
      const error = `The process ended: ${signal ?? `exit code ${code}`}.`
      for (const answer of this.#waiting.values()) answer({ error })
    })
    this.#child.stdin?.on('error', () => undefined)
    if (!this.#child.stdout) return
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { id, ...answer } = JSON.parse(line) as Answer & { id: number }
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  ask(request: Request): Promise<Answer> {
    const id = (this.#asked += 1)
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`)
    })
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
