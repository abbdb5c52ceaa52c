/** Programs of examples/, as processes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { eventually } from '@holdfast/servers/eventually'
import { after } from '../support/after.js'

const ROOT = join(import.meta.dirname, '../..')

export class Program {
  readonly #child: ChildProcess
  /** What it has printed. */
  output = ''
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>

  /** @param path in the repository */
  constructor(path: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [join(ROOT, path)], {
      env: { ...process.env, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.ended = new Promise((resolve) =>
      this.#child.once('exit', (code, signal) => resolve(signal ?? code)),
    )
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (data: Buffer) => (this.output += data.toString()))
    after(() => this.kill())
  }

  /** Returns the port that it listens on. */
  async port(): Promise<number> {
    await this.prints('listening on ')
    return Number(/listening on (\d+)/.exec(this.output)?.[1])
  }

  async prints(text: string): Promise<void> {
    await eventually(
      () => `prints ${JSON.stringify(text)}, and not only ${this.output}`,
      () => this.output.includes(text),
    )
  }

  /** Stops it in its tracks until `resume`. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Asks it to end, and resolves as `ended` does. */
  end(): Promise<number | NodeJS.Signals | null> {
    this.#child.kill('SIGTERM')
    return this.ended
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }
}
