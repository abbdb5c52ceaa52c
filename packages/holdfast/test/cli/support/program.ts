/**
 * A real process, with what it prints and how it ends. Every wait is bounded; a process that still
 * runs is ended.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { afterEach } from 'vitest'

export type Signal =
  | 'SIGTERM'
  | 'SIGINT'
  | 'SIGHUP'
  | 'SIGQUIT'
  | 'SIGKILL'
  | 'SIGSTOP'
  | 'SIGCONT'
  | 'SIGTSTP'
  | 'SIGUSR1'

const running = new Set<Program>()

afterEach(async () => {
  await endPrograms()
})

/** Ends all programs, and resolves when none of them runs. */
export async function endPrograms(): Promise<void> {
  const ended = [...running].map((program) => program.exited)
  for (const program of running) program.kill('SIGKILL')
  await Promise.all(ended)
}

export interface ProgramOptions {
  readonly env?: Record<string, string | undefined>
  readonly cwd?: string
  readonly input?: string
  /** Another user, for whom one must be root. */
  readonly uid?: number
  readonly gid?: number
}

export class Program {
  stdout = ''
  stderr = ''
  readonly pid: number
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  readonly #child: ChildProcess
  /** Emits `change` when it has printed or ended. */
  readonly #changes = new EventEmitter().setMaxListeners(0)

  constructor(file: string, args: readonly string[], options: ProgramOptions = {}) {
    // Where SHLVL is below 2 and stdin is a socket, as a pipe of Node is, bash reads ~/.bashrc.
    const env = { ...process.env, SHLVL: '2', ...options.env }
    const { cwd, uid, gid } = options
    // In a session of its own it has no terminal, wherever the tests run.
    this.#child = spawn(file, args, { stdio: 'pipe', env, cwd, uid, gid, detached: true })
    this.pid = this.#child.pid ?? -1
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text
        this.#changes.emit('change')
      })
    }
    this.#child.stdin?.on('error', () => {})
    if (options.input !== undefined) this.#child.stdin?.end(options.input)
    // `exit`, not `close`: an orphan that holds stdout open is a finding of the test, not a reason
    // to hang.
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }))
      this.#child.once('error', () => resolve({ code: null, signal: null }))
    })
    running.add(this)
    void this.exited.then(() => running.delete(this))
  }

  kill(signal: Signal): void {
    this.#child.kill(signal)
  }

  types(text: string): void {
    this.#child.stdin?.write(text)
  }

  endInput(): void {
    this.#child.stdin?.end()
  }

  /** Waits for text on stdout or stderr. */
  async prints(pattern: RegExp | string, ms?: number): Promise<RegExpExecArray> {
    const regex = typeof pattern === 'string' ? new RegExp(pattern) : pattern
    const find = (): RegExpExecArray | null => regex.exec(this.stdout) ?? regex.exec(this.stderr)
    return this.#until(`it prints ${regex}`, find, ms)
  }

  /** The exit code, with 128+n for signals. */
  async code(ms?: number): Promise<number | string> {
    let ended: { code: number | null; signal: string | null } | undefined
    void this.exited.then((status) => {
      ended = status
      this.#changes.emit('change')
    })
    const status = await this.#until('it ends', () => ended, ms)
    // What was printed last may arrive after the exit.
    await new Promise((resolve) => setImmediate(resolve))
    return status.code ?? status.signal ?? 'unknown'
  }

  /** Resolves to what `find` returns, as soon as it finds something. */
  async #until<T>(what: string, find: () => T | null | undefined, ms = 20_000): Promise<T> {
    const signal = AbortSignal.timeout(ms)
    for (;;) {
      const found = find()
      if (found !== null && found !== undefined) return found
      try {
        await once(this.#changes, 'change', { signal })
      } catch {
        const printed = JSON.stringify(this.stdout + this.stderr)
        throw new Error(`${what}: not within ${ms} ms; so far: ${printed}`)
      }
    }
  }
}
