/**
 * The wrapper's side of the guardian. bin/guardian.sh describes its work, and why it is a shell.
 *
 * The order closes the race between starting and guarding: the guardian starts, the command starts
 * behind its gate, the guardian learns its id, the gate opens. The pipe's write end is
 * close-on-exec, so no other process inherits it, and the pipe ends with this process.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { SystemError } from '../cli-error.js'
import { GUARDIAN_SCRIPT } from '../paths.js'
import { startFailure } from './start-failure.js'
import type { Target } from './command-processes.js'

/**
 * Returns a PATH with the system's folders: that of the command may lead nowhere, and without
 * `sleep` the guardian would never strike.
 */
function guardianPath(): string {
  const ours = process.env['PATH'] ?? ''
  return ours === '' ? SYSTEM_PATH : `${ours}:${SYSTEM_PATH}`
}

const SYSTEM_PATH = '/usr/bin:/bin'

export class Guardian {
  readonly #child: ChildProcess
  readonly #pipe: Writable
  readonly #answers: Readable
  #dismissed = false
  #strikesAtMs = Infinity

  private constructor(child: ChildProcess, pipe: Writable, answers: Readable) {
    this.#child = child
    this.#pipe = pipe
    this.#answers = answers
    // A killed guardian gives EPIPE on the next line; `onDeath` reports it.
    pipe.on('error', () => {})
    child.unref()
  }

  static async start(): Promise<Guardian> {
    const child = spawn('/bin/sh', [GUARDIAN_SCRIPT], {
      // It keeps no output open (`holdfast run … | tee log` must end) and no folder busy.
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
      // The wrapper's environment could break a shell (OPTIND=x), and the guardian needs none of
      // it.
      env: { PATH: guardianPath() },
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => reject(startFailure('guardian process', cause)))
    })
    return new Guardian(child, child.stdin, child.stdout)
  }

  /**
   * Names the processes that must not outlive the wrapper. Resolves when the guardian has answered:
   * an unguarded command must not start.
   */
  watch(target: Target): Promise<void> {
    const answered = new Promise<void>((resolve, reject) => {
      this.#answers.once('data', () => {
        this.#answers.destroy()
        resolve()
      })
      this.#child.once('exit', () =>
        reject(
          new SystemError('The guardian process ended before the command could start. Try again.'),
        ),
      )
    })
    this.#send(`watch ${target.kind} ${target.id} ${target.startTime}`)
    return answered
  }

  /**
   * Asks the guardian to kill the command after `ms`, in case this process is stopped or stuck
   * then. A later call replaces it.
   */
  until(ms: number): void {
    this.#strikesAtMs = performance.now() + Math.max(0, ms)
    this.#send(`until ${(Math.max(0, ms) / 1000).toFixed(3)}`)
  }

  /** Whether the guardian kills now: the last `until` has passed. */
  get strikes(): boolean {
    return performance.now() >= this.#strikesAtMs
  }

  /** Ends the guardian: the command has ended. */
  dismiss(): void {
    if (this.#dismissed) return
    this.#dismissed = true
    this.#send('done')
    this.#pipe.end()
  }

  /** Calls back when the guardian dies while it is needed. */
  onDeath(report: () => void): void {
    this.#child.once('exit', () => {
      if (!this.#dismissed) report()
    })
  }

  #send(line: string): void {
    this.#pipe.write(`${line}\n`)
  }
}
