/**
 * One run of the command: guardian first, gate second, then everybody who must know is told, and
 * only then does the command begin. Whatever kills us at any point, either the gate never opens or
 * the guardian knows what to end.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExitStatus } from '../exit-codes.js'
import { startGate, type Gate } from './gate.js'
import { Guardian } from './guardian.js'
import { groupOf, type RecordedGroup } from './identity.js'
import { lookUp, type ProcessInfo } from './processes.js'
import { killAll, mayOutlive, membersOf, signalAll, signalCommand, type Target } from './target.js'

export interface JobOptions {
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
  /** A terminal is on stdin: share its foreground group. */
  readonly terminal: boolean
  /**
   * Writes the group into the claim. The command starts when this has resolved, and not when it
   * rejects.
   */
  readonly record: (group: RecordedGroup) => Promise<void>
  /**
   * After how many milliseconds the guardian kills the command unless told otherwise. Asked just
   * before the start.
   */
  readonly guardForMs: () => number | undefined
  readonly onGuardianDeath: () => void
  /**
   * Throws when the command must not start after all. Called in the tick in which the gate opens,
   * right before.
   */
  readonly assertWanted: () => void
}

/**
 * Orders for the command and all that works for it. Signals have no effect once the command has
 * ended.
 */
export interface Job {
  readonly pid: number
  /** How the command ended. */
  readonly exited: Promise<ExitStatus>
  /** Whether the command ended by the guardian's hand, who had heard of no later time. */
  readonly endedByGuardian: boolean
  signal(signal: NodeJS.Signals): void
  signalCommandOnly(signal: NodeJS.Signals): void
  /** Kills all of it, also those of its group that outlive the command. */
  kill(): void
  /** The processes of the job as they are now, also those of its group that outlive the command. */
  members(): ProcessInfo[]
  guardFor(ms: number): void
  /** Sends the guardian away: nothing is left that must not outlive us. */
  close(): void
}

export async function startJob(options: JobOptions): Promise<Job> {
  const guardian = await Guardian.start()
  try {
    const gate = await startGate({
      command: options.command,
      env: options.env,
      ownSession: !options.terminal,
    })
    return await passGate(gate, guardian, options)
  } catch (error) {
    guardian.dismiss()
    throw error
  }
}

async function passGate(gate: Gate, guardian: Guardian, options: JobOptions): Promise<Job> {
  try {
    const target = targetOf(gate.pid, options.terminal)
    const group = groupOf(gate.pid)
    // A gate that is gone was killed by somebody; its exit is reported as the command's.
    await Promise.all([guardian.watch(target), group && options.record(group)])
    // Node delivers signals last in a turn of its event loop: one that has arrived must be seen
    // before the gate opens.
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

function targetOf(pid: number, terminal: boolean): Target {
  return { kind: terminal ? 'tree' : 'group', id: pid, startTime: lookUp(pid)?.startTime ?? '' }
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
      // From here on the process id can belong to somebody else.
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
    // Also for those that outlive the command: the guardian strikes when it hears of no later time.
    this.#guardian.until(ms)
  }

  close(): void {
    this.#guardian.dismiss()
  }
}
