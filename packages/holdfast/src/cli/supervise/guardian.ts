/**
 * The wrapper's side of the guardian. bin/guardian.sh describes its work.
 *
 * The order closes the race between starting and guarding. The guardian starts, then the command
 * starts behind its gate. The guardian learns the command's id, and the gate opens. The pipe's
 * write end is close-on-exec, so no other process inherits it, and the pipe ends with this process.
 */
import { existsSync } from 'node:fs'
import { spawn, type ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { SystemError } from '../cli-error.js'
import { GUARDIAN_FOR_NODE, GUARDIAN_SCRIPT } from '../paths.js'
import { startFailure } from './start-failure.js'
import type { Target } from './command-processes.js'

/** Shells whose `read -t` measures time, by their usual paths. The first is the quickest start. */
const SHELLS: readonly (readonly [file: string, ...args: string[]])[] = [
  ['/bin/bash'],
  ['/usr/bin/bash'],
  ['/bin/busybox', 'sh'],
  ['/usr/bin/busybox', 'sh'],
]

/**
 * Returns the program of the guardian. The script reads /proc, and without it, or without such a
 * shell, the guardian is Node.
 */
function guardianProgram(): readonly [file: string, ...args: string[]] {
  const shell = process.platform === 'linux' && SHELLS.find(([file]) => existsSync(file))
  return shell ? [...shell, GUARDIAN_SCRIPT] : [process.execPath, GUARDIAN_FOR_NODE]
}

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
    const [file, ...args] = guardianProgram()
    const child = spawn(file, args, {
      // It keeps no output open (`holdfast run … | tee log` must end) and no folder busy.
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
      // The wrapper's environment could break a shell (OPTIND=x, BASH_ENV). The guardian uses none
      // of it; the torture finds all processes of its runs by their PATH.
      env: { PATH: process.env['PATH'] },
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
    // The start time of a process that is gone is unknown; an empty word would shift the others.
    const { kind, id, startTime } = target
    const members = target.kind === 'tree' ? ` ${target.session} ${target.mark}` : ''
    this.#send(`watch ${kind} ${id} ${startTime || '-'}${members}`)
    return answered
  }

  /**
   * Asks the guardian to kill the command after `ms`, in case this process is stopped or stuck
   * then. A later call replaces it.
   */
  until(ms: number): void {
    this.#strikesAtMs = performance.now() + Math.max(0, ms)
    // With 0 a shell would not read at all.
    this.#send(`until ${(Math.max(1, ms) / 1000).toFixed(3)}`)
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
