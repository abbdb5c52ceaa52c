/**
 * Starts the command behind a gate. Its process and group exist and can be recorded, but no
 * instruction of the command runs before the gate opens.
 *
 * The gate is a `/bin/sh` that waits for a word on a pipe and then *becomes* the command (exec). It
 * costs half a millisecond. No shell parses the command: the arguments travel as arguments ("$@"),
 * and no shell is left once the command runs. The reason: the wrapper can be killed after the start
 * of a process and before the guardian and the store know it. An ordinary child would then keep
 * running, unknown to both, beside the next holder. A gate whose pipe breaks exits without running
 * anything.
 */
import { spawn, type ChildProcess, type SpawnOptions, type StdioOptions } from 'node:child_process'
import type { Writable } from 'node:stream'
import { SystemError } from '../cli-error.js'
import type { ExitStatus } from '../exit-codes.js'
import { shellSafeEnv } from './shell-env.js'
import { startFailure } from './start-failure.js'

export interface Gate {
  readonly pid: number
  /** How the command ended, or the gate if it never opened. */
  readonly exited: Promise<ExitStatus>
  /** Lets the command run. */
  open(): void
  /** Ends the gate; the command never runs. */
  abandon(): void
}

export interface GateOptions {
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * Whether the command leads a session of its own. Otherwise it stays in the wrapper's process
   * group.
   */
  readonly ownSession: boolean
  /** Descriptors from 3 on that the command inherits. */
  readonly keepFds: readonly number[]
}

/** The shell closes the pipe before the exec, so the command inherits nothing of the gate. */
function waitForWord(fd: number): string {
  return `read -r HOLDFAST_GO <&${fd} && [ "$HOLDFAST_GO" = go ] || exit 125; exec ${fd}<&-; unset HOLDFAST_GO; `
}

/** Returns the descriptors of the command, and that of the gate among them. */
function descriptors(keepFds: readonly number[]): { stdio: StdioOptions; gateFd: number } {
  const gateFd = GATE_FDS.find((fd) => !keepFds.includes(fd)) ?? 0
  const last = Math.max(gateFd, ...keepFds)
  const stdio = Array.from({ length: last + 1 }, (_, fd) => {
    if (fd === gateFd) return 'pipe'
    return fd < 3 || keepFds.includes(fd) ? fd : 'ignore'
  })
  return { stdio, gateFd }
}

/** A shell can name no others in a redirection. */
export const GATE_FDS = [3, 4, 5, 6, 7, 8, 9]

export async function startGate(options: GateOptions): Promise<Gate> {
  const { env, prelude } = shellSafeEnv(options.env, options.command[0])
  const { stdio, gateFd } = descriptors(options.keepFds)
  const script = `${waitForWord(gateFd)}${prelude}exec "$@"`
  const child = spawnOrThrow(['-c', script, 'holdfast', ...options.command], {
    stdio,
    detached: options.ownSession,
    env,
  })
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const pipe = child.stdio[gateFd] as Writable
  // Writing to a dead gate gives EPIPE; its exit is reported instead.
  pipe.on('error', () => {})
  await spawned(child)
  const pid = child.pid
  if (pid === undefined)
    throw new SystemError('The command could not be started: the system gave it no process id.')
  return { pid, exited, open: () => pipe.end('go\n'), abandon: () => pipe.destroy() }
}

/** Some failures come as an event; others, such as E2BIG, are thrown. */
function spawnOrThrow(args: string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn('/bin/sh', args, options)
  } catch (cause) {
    throw startFailure('command', cause as NodeJS.ErrnoException)
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause: NodeJS.ErrnoException) => reject(startFailure('command', cause)))
  })
}
