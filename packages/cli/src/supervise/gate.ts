/**
 * Starts the command behind a gate: it exists, so its process and group have names that can be
 * written down, but not one instruction of it runs before the gate is opened.
 *
 * The gate is a `/bin/sh` that waits for a word on a pipe and then *becomes* the command (exec). It
 * costs half a millisecond. No shell ever reads the command: the arguments travel as arguments
 * ("$@"), and once the command runs there is no shell left. Why it is there: between the start of a
 * process and the moment when the guardian and the store know of it we can be killed. An ordinary
 * child would then work on, unknown to everybody, beside the next holder. A gate whose pipe breaks
 * exits without having done anything.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import type { Writable } from 'node:stream'
import { SystemError } from '../cli-error.js'
import type { ExitStatus } from '../exit-codes.js'
import { shellSafeEnv } from './shell-env.js'
import { startFailure } from './start-failure.js'

export interface Gate {
  readonly pid: number
  /** How the command ended, or the gate when it was never opened. */
  readonly exited: Promise<ExitStatus>
  /** Lets the command run. */
  open(): void
  /** Gives the command up: it never ran. */
  abandon(): void
}

export interface GateOptions {
  readonly command: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Lead a session of its own. Without it the command stays in our process group. */
  readonly ownSession: boolean
}

/** The pipe is closed before the exec: nothing of the gate is left in the command. */
const WAIT_FOR_WORD =
  'read -r HOLDFAST_GO <&3 && [ "$HOLDFAST_GO" = go ] || exit 125; exec 3<&-; unset HOLDFAST_GO; '

export async function startGate(options: GateOptions): Promise<Gate> {
  const { env, prelude } = shellSafeEnv(options.env, options.command[0])
  const script = `${WAIT_FOR_WORD}${prelude}exec "$@"`
  const child = spawnOrThrow(['-c', script, 'holdfast', ...options.command], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    detached: options.ownSession,
    env,
  })
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const pipe = child.stdio[3] as Writable
  // Writing to a gate that died a moment ago gives EPIPE; its exit tells the story.
  pipe.on('error', () => {})
  await spawned(child)
  const pid = child.pid
  if (pid === undefined)
    throw new SystemError('The command could not be started: the system gave it no process id.')
  return { pid, exited, open: () => pipe.end('go\n'), abandon: () => pipe.destroy() }
}

/** Some failures come as an event, others (E2BIG) are thrown at once. */
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
