/**
 * Whether a wrapper ended with a code that `docs/command-line.md` names for what happened to it.
 */
import { constants } from 'node:os'
import { FAULTS } from '@holdfast/stores/faults/catalogue'
import type { Happening } from '../run/chronicle.js'
import type { Line, RunRecord } from './record.js'

const UNREACHABLE = 69
const SYSTEM = 71
const LOST = 74
const BUSY = 75
const CONFIG = 78
/** What the witness exits with when it finds another one at work. */
const OVERLAPPED = 99

/** What of a run the witness wrote. */
export interface Trace {
  readonly entered: boolean
  readonly overlapped: boolean
  readonly exit: number | undefined
}

export function traceOf(lines: readonly Line[]): Trace {
  const exit = lines.find(({ kind }) => kind === 'EXIT')
  return {
    entered: lines.some(({ kind }) => kind === 'ENTER'),
    overlapped: lines.some(({ kind }) => kind === 'OVERLAP'),
    exit: exit && Number(exit.rest),
  }
}

/** @returns what is wrong, if anything is. A wrapper that has not ended is another matter. */
export function wrongExitOf(
  run: RunRecord,
  trace: Trace,
  happenings: readonly Happening[],
): string | undefined {
  const { id, code, signal, endNs, output } = run
  if (endNs === undefined) return undefined
  const allowed = new Set([...ofCommand(run, trace), ...ofWrapper(run, trace, happenings)])
  if (signal != null) {
    // Before Node listens, a signal does what it does to all programs.
    if (struck(run, 'wrapper', signal === 'SIGKILL' ? 'kill' : signal)) return undefined
  } else if (code != null && allowed.has(code)) return undefined
  const did =
    trace.exit !== undefined
      ? `exited with ${trace.exit}`
      : trace.entered
        ? 'entered'
        : 'never entered'
  const asked = [...allowed].sort((one, other) => one - other).join(', ')
  return `The wrapper of run ${id} ended with ${signal ?? code}, not with one of ${asked}; its command ${did}. It said: ${output.trim() || 'nothing'}`
}

/** Codes that are the command's own. */
function ofCommand(run: RunRecord, { entered, overlapped, exit }: Trace): number[] {
  const codes: number[] = []
  if (exit !== undefined) codes.push(exit)
  if (overlapped) codes.push(OVERLAPPED)
  if (struck(run, 'command', 'kill')) codes.push(128 + constants.signals.SIGKILL)
  // A signal reaches the command, or ends the wait.
  for (const ending of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    if (struck(run, 'wrapper', ending) && (entered || exit === undefined)) {
      codes.push(128 + constants.signals[ending])
    }
  }
  return codes
}

/** Codes that are the wrapper's, for what became of the lock. */
function ofWrapper(
  run: RunRecord,
  { entered, overlapped }: Trace,
  happenings: readonly Happening[],
): number[] {
  const { wish, blows, startNs, endNs = 0n } = run
  const away = happenings.filter(
    (one) =>
      FAULTS[one.fault.kind].lane !== 'process' &&
      one.startNs <= endNs &&
      (one.endNs === 0n || one.endNs >= startNs),
  )
  const codes: number[] = []
  const wasStopped = blows.some(({ part, what }) => part === 'wrapper' && what === 'stop')
  if (away.length > 0 || wasStopped) codes.push(LOST)
  if (entered || overlapped) return codes
  if (away.length > 0) codes.push(UNREACHABLE)
  // So ends also a run that meets a replaced server first: it seems to be a wrong URL.
  const wrongSettings = ['disk-full', 'endpoint-moves']
  if (away.some(({ fault }) => wrongSettings.includes(fault.kind))) codes.push(CONFIG)
  // So ends a wait that a deadlock ends, too.
  if (wish.waitMs !== undefined || wish.outer !== undefined) codes.push(BUSY)
  // Without a guardian the command is not started.
  if (struck(run, 'guardian', 'kill')) codes.push(SYSTEM)
  return codes
}

function struck({ blows }: RunRecord, part: string, what: string): boolean {
  return blows.some((blow) => blow.part === part && blow.what === what)
}
