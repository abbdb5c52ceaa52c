/**
 * The wrapper's side of the guardian. See bin/guardian.sh for what it does and why it is a shell.
 *
 * The order closes the race between starting the command and guarding it: the guardian is started
 * first, then the command behind its gate, then the guardian is told, then the gate opens. The
 * pipe's write end is close-on-exec, so neither the command nor anything else inherits it and the
 * pipe ends when this process does.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { SystemError } from '../cli-error.js'
import { GUARDIAN_SCRIPT } from '../paths.js'
import { startFailure } from './start-failure.js'
import type { Target } from './target.js'

/**
 * A PATH that is meant for the command may lead nowhere, and a guardian without `sleep` would
 * strike never.
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
    // A guardian that was killed gives EPIPE on the next line; `onDeath` tells of it.
    pipe.on('error', () => {})
    child.unref()
  }

  static async start(): Promise<Guardian> {
    const child = spawn('/bin/sh', [GUARDIAN_SCRIPT], {
      // It holds no output open (`holdfast run … | tee log` must end) and no folder busy.
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
      // Our environment could upset a shell (OPTIND=x), and is none of its business.
      env: { PATH: guardianPath() },
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => reject(startFailure('guardian process', cause)))
    })
    return new Guardian(child, child.stdin, child.stdout)
  }

  /**
   * Names what must not outlive us. Resolves when the guardian has understood: a command that
   * nobody guards must not start.
   */
  watch(target: Target): Promise<void> {
    const understood = new Promise<void>((resolve, reject) => {
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
    this.#say(`watch ${target.kind} ${target.id} ${target.startTime}`)
    return understood
  }

  /**
   * Has the command killed after `ms`, in case this process is stopped or stuck then. A later call
   * replaces it.
   */
  until(ms: number): void {
    this.#strikesAtMs = performance.now() + Math.max(0, ms)
    this.#say(`until ${(Math.max(0, ms) / 1000).toFixed(3)}`)
  }

  /**
   * Whether the guardian has had its order to kill: the time has passed, and it heard of no later
   * one.
   */
  get strikes(): boolean {
    return performance.now() >= this.#strikesAtMs
  }

  /** The command has ended: nothing is left to guard. */
  dismiss(): void {
    if (this.#dismissed) return
    this.#dismissed = true
    this.#say('done')
    this.#pipe.end()
  }

  /** Calls back when somebody killed the guardian while it was needed. */
  onDeath(tell: () => void): void {
    this.#child.once('exit', () => {
      if (!this.#dismissed) tell()
    })
  }

  #say(line: string): void {
    this.#pipe.write(`${line}\n`)
  }
}
