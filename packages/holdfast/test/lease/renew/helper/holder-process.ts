/** Processes of `holder.mjs`, as tests drive them. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Locks } from 'holdfast'
import { after } from '../../../../../../test/support/after.js'

export interface Line {
  readonly step: string
  readonly held?: boolean
  readonly outcome?: string
  readonly handle?: string
  readonly error?: string
}

/** A process of `holder.mjs`. */
export class Holder {
  readonly process: ChildProcess
  readonly lines: Line[] = []
  readonly #waiting = new Map<string, (line: Line) => void>()
  readonly exit: Promise<number | null>
  readonly #outputEnded: Promise<unknown>

  constructor(terms: object) {
    const path = join(import.meta.dirname, 'holder.mjs')
    this.process = spawn(process.execPath, [path, JSON.stringify(terms)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.exit = new Promise((resolve) => this.process.once('exit', resolve))
    const { stdout } = this.process
    if (!stdout) throw new Error('the holder has no output')
    const output = createInterface(stdout)
    this.#outputEnded = once(output, 'close')
    output.on('line', (text) => {
      const line = JSON.parse(text) as Line
      this.lines.push(line)
      this.#waiting.get(line.step)?.(line)
    })
    after(() => this.process.kill('SIGKILL'))
  }

  /** Resolves to the line of a step. Rejects when the process ends without it. */
  async until(step: string): Promise<Line> {
    const known = this.lines.find((line) => line.step === step)
    if (known) return known
    const line = new Promise<Line>((resolve) => this.#waiting.set(step, resolve))
    const ended = this.#outputEnded.then((): never => {
      throw new Error(`The holder ended before "${step}".`)
    })
    return Promise.race([line, ended])
  }
}

/** Resolves to the time in milliseconds after which the contender has the lock. */
export async function timeToLock(locks: Locks): Promise<number> {
  const startMs = performance.now()
  const lease = await locks.mutex('a').acquire()
  const tookMs = performance.now() - startMs
  await lease.release()
  return tookMs
}
