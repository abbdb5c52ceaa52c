/** Runs the command under a lease: from the grant to the moment when nothing of the command is left. */
import type { Lease } from 'holdfast'
import { isatty } from 'node:tty'
import type { ExitStatus } from '../exit-codes.js'
import { note } from '../report.js'
import { forwardTo, stopTogether } from '../supervise/forwarding.js'
import { startJob, type Job } from '../supervise/job.js'
import { guardMs, LeaseWatch, safetyMs } from '../supervise/lease-watch.js'
import { isMessage, type HandledSignal, type Signals } from '../supervise/signals.js'
import { Termination, type EndReason } from '../supervise/termination.js'
import { after } from '../timers.js'
import { InterruptedError } from './interrupted.js'
import type { RunSettings } from './settings.js'

export interface ExecuteOptions {
  readonly lease: Lease
  readonly settings: RunSettings
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signals: Signals
  /** How long the lease has been held already: `--at-most-for` counts from the grant. */
  readonly heldMs: number
}

export interface Execution {
  readonly status: ExitStatus
  /** Why we ended the command; undefined when it ended by itself. */
  readonly ended: EndReason | undefined
  /** The lock was lost before the command was through. */
  readonly lost: boolean
  /** Somebody sent a signal to end it: nobody wants the lock to be kept for longer. */
  readonly toldToEnd: boolean
}

export async function execute(options: ExecuteOptions): Promise<Execution> {
  const terminal = isatty(0)
  const job = await start(options, terminal)
  const termination = new Termination(job)
  let lost = false
  const watch = watchLease(options, job, termination, () => {
    lost = true
  })
  let toldToEnd = false
  const forward = forwardTo(job, terminal)
  options.signals.handle((signal) => {
    toldToEnd ||= !isMessage(signal)
    // Shells let what they run in the background ignore the others, and so does nohup: it may stay for days.
    if (signal === 'SIGTERM') termination.passOn()
    forward(signal)
  })
  const letGo = stopTogether(job, terminal, () => watch.resume())
  const { atMostMs, killAfterMs } = options.settings
  const cancelCap = after(atMostMs - options.heldMs, () => {
    if (!options.settings.json) note(`the command still runs after --at-most-for; it is told to end.`)
    termination.begin('at-most', killAfterMs)
  })
  try {
    await termination.settled()
    const status = await job.exited
    return { status, ended: termination.reason ?? endedByGuardian(status, options), lost, toldToEnd }
  } finally {
    cancelCap()
    watch.close()
    letGo()
    job.close()
  }
}

/** When we are kept from ending the command in time (the machine is overloaded, say), its guardian does. */
function endedByGuardian({ signal }: ExitStatus, { lease, settings }: ExecuteOptions): EndReason | undefined {
  if (signal !== 'SIGKILL' || settings.onLost === 'warn') return undefined
  return lease.remainingMs <= safetyMs(settings.ttlMs, settings.killAfterMs) ? 'lost' : undefined
}

/** A signal during the start, or a lease that ends meanwhile, stops it: the gate is never opened. */
async function start(options: ExecuteOptions, terminal: boolean): Promise<Job> {
  const { lease, settings, env, signals } = options
  let pending: HandledSignal | undefined
  signals.handle((signal) => {
    pending ??= signal
  })
  return startJob({
    command: settings.command,
    env,
    terminal,
    record: (group) => lease.annotate({ group }),
    assertWanted: () => {
      if (pending !== undefined) throw new InterruptedError(settings.name, pending)
      // This process may have been stopped since the grant, and another may hold the lock by now.
      lease.assertHeld()
    },
    guardForMs: () =>
      settings.onLost === 'warn'
        ? undefined
        : guardMs(lease.remainingMs, settings.ttlMs, settings.killAfterMs),
    onGuardianDeath: () => {
      if (settings.json) return
      note('the guardian process was killed; if this process is killed too, the command will work on.')
    },
  })
}

function watchLease(
  options: ExecuteOptions,
  job: Job,
  termination: Termination,
  onLost: () => void,
): LeaseWatch {
  const { lease, settings } = options
  return new LeaseWatch({
    lease,
    ttlMs: settings.ttlMs,
    killAfterMs: settings.killAfterMs,
    onLost: settings.onLost,
    end: (reason, graceMs) => termination.begin(reason, graceMs),
    guardFor: (ms) => job.guardFor(ms),
    warn: (sure) => {
      onLost()
      if (!settings.json) note(lossText(lease, settings, sure))
    },
  })
}

function lossText(lease: Lease, settings: RunSettings, sure: boolean): string {
  const reason: unknown = lease.signal.reason
  const what = sure
    ? reason instanceof Error
      ? reason.message
      : `The lease on "${lease.name}" was lost.`
    : `The lease on "${lease.name}" runs out and the store does not confirm its renewal.`
  return `${what} ${settings.onLost === 'warn' ? 'The command works on, without the lock.' : 'The command is ended.'}`
}
