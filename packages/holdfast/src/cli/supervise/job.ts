/**
 * One run of the command. The order: guardian, gate, the guardian and the store record the group,
 * the gate opens. If the wrapper dies at any point, either the gate never opens or the guardian
 * knows the processes to end.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExitStatus } from '../exit-codes.js'
import { startGate, type Gate } from './command-gate.js'
import { Guardian } from './guardian.js'
import { groupOf, type RecordedGroup } from './process-group.js'
import { lookUp, type ProcessInfo } from './processes.js'
import {
  killAll,
  mayOutlive,
  membersOf,
  signalAll,
  signalCommand,
  type Target,
} from './command-processes.js'

export interface JobOptions {
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the command shares the foreground group of a terminal. */
  readonly terminal: boolean
  /** Descriptors from 3 on that the command inherits. */
  readonly keepFds?: readonly number[]
  /** A text that stands in `env`, and in the environment of no other job. */
  readonly mark: string
  /**
   * Writes the group into the claim. The command starts after this resolves, and never if it
   * rejects.
   */
  readonly record: (group: RecordedGroup) => Promise<void>
  /**
   * Returns the milliseconds after which the guardian kills the command, without a later order.
   * Called just before the start.
   */
  readonly guardForMs: () => number | undefined
  readonly onGuardianDeath: () => void
  /**
   * Throws when the command must not start. Called in the tick in which the gate opens, right
   * before that.
   */
  readonly assertWanted: () => void
}

/** The command with all its processes. Signals have no effect once the command has ended. */
export interface Job {
  readonly pid: number
  /** How the command ended. */
  readonly exited: Promise<ExitStatus>
  /** Whether the guardian killed the command, because no later order came. */
  readonly endedByGuardian: boolean
  signal(signal: NodeJS.Signals): void
  signalCommandOnly(signal: NodeJS.Signals): void
  /** Kills all processes, also those of the group that outlive the command. */
  kill(): void
  /** Returns the present processes, also those of the group that outlive the command. */
  members(): ProcessInfo[]
  guardFor(ms: number): void
  /** Ends the guardian: no process is left to guard. */
  close(): void
}

export async function startJob(options: JobOptions): Promise<Job> {
  const guardian = await Guardian.start()
  try {
    const gate = await startGate({
      command: options.command,
      env: options.env,
      ownSession: !options.terminal,
      keepFds: options.keepFds ?? [],
    })
    return await passGate(gate, guardian, options)
  } catch (error) {
    guardian.dismiss()
    throw error
  }
}

async function passGate(gate: Gate, guardian: Guardian, options: JobOptions): Promise<Job> {
  try {
    const target = targetOf(gate.pid, options)
    const group = groupOf(gate.pid)
    // A gate that is gone was killed; its exit is reported as the command's.
    await Promise.all([guardian.watch(target), group && options.record(group)])
    // Node delivers signals at the end of a tick: one that has arrived must be seen before the gate
    // opens.
    await nextTurn()
    const guardMs = options.guardForMs()
    if (guardMs !== undefined) guardian.until(guardMs)
    guardian.onDeath(options.onGuardianDeath)
    // After `until`: if this process is stopped between the check and the opening, the guardian
    // kills the gate in time.
    options.assertWanted()
    gate.open()
    return new RunningJob(gate, guardian, target)
  } catch (error) {
    gate.abandon()
    await gate.exited
    throw error
  }
}

function targetOf(pid: number, { terminal, mark }: JobOptions): Target {
  const { startTime = '', session = 0 } = lookUp(pid) ?? {}
  const leader = { id: pid, startTime }
  return terminal ? { kind: 'tree', ...leader, session, mark } : { kind: 'session', ...leader }
}

class RunningJob implements Job {
  readonly pid: number
  readonly exited: Promise<ExitStatus>
  readonly #target: Target
  readonly #guardian: Guardian
  #ended = false
  #endedByGuardian = false

  constructor(gate: Gate, guardian: Guardian, target: Target) {
    this.pid = gate.pid
    this.#target = target
    this.#guardian = guardian
    this.exited = gate.exited.then((status) => {
      // From here on another process can have this id.
      this.#ended = true
      this.#endedByGuardian = status.signal === 'SIGKILL' && guardian.strikes
      return status
    })
  }

  get endedByGuardian(): boolean {
    return this.#endedByGuardian
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#ended) signalAll(this.#target, signal)
  }

  signalCommandOnly(signal: NodeJS.Signals): void {
    if (!this.#ended) signalCommand(this.#target, signal)
  }

  kill(): void {
    if (this.#isInReach()) killAll(this.#target)
  }

  members(): ProcessInfo[] {
    return this.#isInReach() ? membersOf(this.#target) : []
  }

  #isInReach(): boolean {
    return !this.#ended || mayOutlive(this.#target)
  }

  guardFor(ms: number): void {
    // Also for processes that outlive the command: the guardian strikes without a later order.
    this.#guardian.until(ms)
  }

  close(): void {
    this.#guardian.dismiss()
  }
}
