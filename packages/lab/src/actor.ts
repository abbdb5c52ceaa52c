/** One process of the lab, as the conductor sees it. */
import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Order, Report } from './processes/protocol.js'

/** Beside this module when compiled, and beside the one file of the bundle. */
const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url))

/** A process that has come to a point, and waits for the word to go on. */
export interface Arrival {
  readonly actor: Actor
  readonly point: string
  readonly detail: unknown
  /** Lets it go on. */
  readonly go: () => void
}

export interface Conduct {
  readonly arrived?: (arrival: Arrival) => void
  readonly noted?: (actor: Actor, note: unknown) => void
}

/** What a process was doing when it was killed or died. */
export class ActorGoneError extends Error {
  override readonly name = 'ActorGoneError'
}

const running = new Set<ChildProcess>()
// A lab that ends by an exception leaves no process behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export class Actor {
  readonly number: number
  readonly #child: ChildProcess
  readonly #ready: Promise<void>
  readonly #gone: Promise<void>
  #alive = true
  #conduct: Conduct = {}
  #settle: { resolve: (result: unknown) => void; reject: (error: Error) => void } | undefined

  constructor(number: number, env: NodeJS.ProcessEnv = {}) {
    this.number = number
    const child = fork(WORKER, [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    })
    this.#child = child
    running.add(child)
    this.#gone = new Promise((resolve) => {
      child.once('exit', () => {
        running.delete(child)
        this.#alive = false
        this.#settle?.reject(new ActorGoneError(`Process ${number} is gone.`))
        resolve()
      })
    })
    this.#ready = new Promise((resolve, reject) => {
      child.once('message', () => resolve())
      child.once('error', reject)
    })
    child.on('message', (report: Report) => this.#heard(report))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get alive(): boolean {
    return this.#alive
  }

  /** Runs a part in the process. Rejects with an ActorGoneError when the process ends meanwhile. */
  async run(part: string, settings: unknown, conduct: Conduct = {}): Promise<unknown> {
    await Promise.race([this.#ready, this.#gone])
    this.#conduct = conduct
    const result = new Promise<unknown>((resolve, reject) => (this.#settle = { resolve, reject }))
    if (this.#alive) this.#tell({ say: 'run', part, settings })
    else this.#settle?.reject(new ActorGoneError(`Process ${this.number} is gone.`))
    try {
      return await result
    } finally {
      this.#conduct = {}
      this.#settle = undefined
    }
  }

  /** Stops the process in its tracks: no timer of it runs, and its connections stay open. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    // At once, and not only when the process has ended: it takes no part any more.
    this.#alive = false
    this.#child.kill('SIGKILL')
    await this.#gone
  }

  #tell(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => {})
  }

  #heard(report: Report): void {
    switch (report.say) {
      case 'ready':
        return
      case 'meet': {
        const { meeting, point, detail } = report
        const go = (): void => this.#tell({ say: 'go', meeting })
        if (this.#conduct.arrived) this.#conduct.arrived({ actor: this, point, detail, go })
        else go()
        return
      }
      case 'note':
        this.#conduct.noted?.(this, report.note)
        return
      case 'done':
        this.#settle?.resolve(report.result)
        return
      case 'failed':
        this.#settle?.reject(Object.assign(new Error(report.message), { code: report.code }))
    }
  }
}
