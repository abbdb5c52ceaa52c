/** One `holdfast run`, and what can be done to it and to the processes that it starts. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { now, type Chronicle } from '../run/chronicle.js'
import { childrenOf, commandLineOf, isThere, nameOf, send, type ProcessName } from './processes.js'
import type { Blow, Ending, Part, RunRecord, RunWish } from './record.js'

const KEPT_OUTPUT = 4000

export interface WrapperOptions {
  readonly id: string
  readonly wish: RunWish
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly chronicle: Chronicle
}

export class Wrapper {
  readonly record: RunRecord
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #chronicle: Chronicle
  readonly #parts: { guardian?: ProcessName; command?: ProcessName } = {}

  constructor({ id, wish, program, args, env, chronicle }: WrapperOptions) {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      env,
    })
    if (child.pid === undefined) throw new Error(`${program} could not be started.`)
    this.#child = child
    this.#chronicle = chronicle
    const record: RunRecord = { id, wish, pid: child.pid, startNs: now(), output: '', blows: [] }
    this.record = record
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      record.output = (record.output + text).slice(0, KEPT_OUTPUT)
    })
    this.exited = once(child, 'exit').then(([code, signal]) => {
      record.endNs = now()
      record.code = code as number | null
      record.signal = signal as NodeJS.Signals | null
    })
  }

  get ended(): boolean {
    return this.record.endNs !== undefined
  }

  /** Whether the guardian is there; the command is started after it. */
  get guarded(): boolean {
    return this.#parts.guardian !== undefined
  }

  /** Looks for the guardian and the command among its children. */
  observe(): void {
    if (this.ended || this.#parts.command) return
    const children = childrenOf(this.record.pid)
    if (children.length === 0) return
    const own = commandLineOf(this.record.pid)
    for (const pid of children) {
      const line = commandLineOf(pid)
      // Until it becomes another program, a child is a copy of the wrapper.
      if (line === '' || line === own) continue
      const name = nameOf(pid)
      if (name) this.#parts[line.includes('guardian.sh') ? 'guardian' : 'command'] ??= name
    }
  }

  kill(...parts: Part[]): void {
    for (const part of parts) this.#strike(part, 'kill', 'SIGKILL')
  }

  /** Kills the command, and no other process of its group. */
  killCommandAlone(): void {
    const { command } = this.#parts
    if (!command || !isThere(command)) return
    const blow: Blow = { part: 'command', what: 'kill', startNs: now() }
    if (send(command.pid, 'SIGKILL')) this.record.blows.push(blow)
  }

  /** From now on the guardian can open no file and, of any user but root, start no process. */
  limitGuardian(): void {
    const { guardian } = this.#parts
    if (!guardian || !isThere(guardian)) return
    execFileSync('prlimit', ['--pid', String(guardian.pid), '--nofile=3:3', '--nproc=1:1'])
  }

  /** Sends a signal to the wrapper alone. */
  tell(signal: Ending): void {
    this.#strike('wrapper', signal, signal)
  }

  /** Stops parts of it, and gives what lets them go on. */
  stop(...parts: Part[]): () => void {
    const stopped = parts.map((part) => [part, this.#strike(part, 'stop', 'SIGSTOP')] as const)
    return () => this.#goOn(stopped)
  }

  /** Asks the wrapper to stop, as a shell does, and gives what lets it go on. */
  suspend(): () => void {
    const blow = this.#strike('wrapper', 'stop', 'SIGTSTP')
    return () => this.#goOn([['wrapper', blow]])
  }

  #goOn(stopped: readonly (readonly [Part, Blow | undefined])[]): void {
    for (const [part, blow] of stopped) {
      if (!blow) continue
      this.#send(part, 'SIGCONT')
      blow.endNs = now()
    }
  }

  /** Written down before the signal: nothing that follows from it comes earlier. */
  #strike(part: Part, what: Blow['what'], signal: NodeJS.Signals): Blow | undefined {
    const blow: Blow = { part, what, startNs: now() }
    if (!this.#send(part, signal)) return undefined
    this.record.blows.push(blow)
    if (part === 'wrapper' && what === 'kill') this.#chronicle.kill(this.record.pid)
    return blow
  }

  #send(part: Part, signal: NodeJS.Signals): boolean {
    if (part === 'wrapper') return !this.ended && this.#child.kill(signal)
    const name = this.#parts[part]
    return name !== undefined && isThere(name) && send(-name.pid, signal)
  }
}
