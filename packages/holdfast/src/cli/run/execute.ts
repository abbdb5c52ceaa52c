/** Runs the command under a lease: from the grant until no process of the command is left. */
import { onLockEvent, type Lease } from '../../index.js'
import type { ExitStatus } from '../exit-codes.js'
import { failureOf } from '../failure.js'
import { note } from '../output/note.js'
import { isAtTerminal } from '../supervise/at-terminal.js'
import { forwardTo, stopTogether } from '../supervise/forwarding.js'
import { startJob, type Job } from '../supervise/job.js'
import { Keyboard } from '../supervise/keyboard.js'
import { guardMs, LeaseWatch } from '../supervise/lease-watch.js'
import { isMessage, type HandledSignal, type Signals } from '../supervise/signals.js'
import { Termination, type EndReason } from '../supervise/termination.js'
import { after } from '../timers.js'
import { InterruptedError } from './interrupted.js'
import { endRest } from './rest.js'
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
  /** Why Holdfast ended the command; undefined when it ended by itself. */
  readonly ended: Exclude<EndReason, 'rest'> | undefined
  /** How the lock was lost while the command ran; undefined when it was not. */
  readonly loss: string | undefined
  /** A signal asked it to end: `--at-least-for` no longer keeps the lock. */
  readonly askedToEnd: boolean
}

export async function execute(options: ExecuteOptions): Promise<Execution> {
  const terminal = isAtTerminal()
  const job = await start(options, terminal)
  const termination = new Termination(job)
  let loss: string | undefined
  const lose = (how: string): void => {
    loss = how
    if (!options.settings.json) note(`${how} ${consequence(options.settings)}`)
  }
  const watch = watchLease(options, job, termination, lose)
  const keyboard = terminal ? new Keyboard() : undefined
  const passedOn = passSignalsOn(options.signals, job, termination, keyboard)
  const letGo = stopTogether(job, terminal, () => watch.resume())
  const { atMostMs, killAfterMs } = options.settings
  const cancelCap = after(atMostMs - options.heldMs, () => {
    if (!options.settings.json) note(`the command still runs after --at-most-for; sending SIGTERM.`)
    termination.begin('at-most', killAfterMs)
  })
  try {
    await termination.settled()
    const status = await job.exited
    await endRest(status, termination, passedOn, options.settings)
    // The guardian ends the command when this process is stopped, or too slow to end it in time.
    if (job.endedByGuardian && loss === undefined) {
      loss = killedText(options.lease)
      if (!options.settings.json) note(loss)
    }
    return {
      status,
      ended: endOf(termination.reason, job),
      loss,
      askedToEnd: [...passedOn].some((signal) => !isMessage(signal)),
    }
  } finally {
    cancelCap()
    watch.close()
    letGo()
    keyboard?.close()
    job.close()
  }
}

/** Passes signals on to the command. Returns those that have come, and adds later ones. */
function passSignalsOn(
  signals: Signals,
  job: Job,
  termination: Termination,
  keyboard: Keyboard | undefined,
): ReadonlySet<HandledSignal> {
  const passedOn = new Set<HandledSignal>()
  const forward = forwardTo(job, keyboard)
  signals.handle((signal) => {
    passedOn.add(signal)
    // Background jobs of shells and of nohup ignore the other signals, and may run for days.
    if (signal === 'SIGTERM') termination.passOn()
    forward(signal)
  })
  return passedOn
}

/** The processes that a killed command leaves behind end with it, and it keeps its own status. */
function endOf(reason: EndReason | undefined, job: Job): Execution['ended'] {
  if (reason !== undefined && reason !== 'rest') return reason
  return job.endedByGuardian ? 'lost' : undefined
}

/** Starts the command. A signal, or a lease that ends meanwhile, keeps the gate closed. */
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
    keepFds: settings.keepFds,
    mark: lease.claimId,
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
      note(
        'the guardian process was killed; if this process is killed too, the command keeps running.',
      )
    },
  })
}

function watchLease(
  options: ExecuteOptions,
  job: Job,
  termination: Termination,
  lose: (how: string) => void,
): LeaseWatch {
  const { lease, settings } = options
  return new LeaseWatch({
    lease,
    onRenewed: (listener) =>
      onLockEvent('renewed', ({ claimId }) => {
        if (claimId === lease.claimId) listener()
      }),
    ttlMs: settings.ttlMs,
    killAfterMs: settings.killAfterMs,
    onLost: settings.onLost,
    end: (reason, graceMs) => termination.begin(reason, graceMs),
    guardFor: (ms) => job.guardFor(ms),
    warn: (sure) => lose(lossText(lease, sure)),
  })
}

function lossText({ name, signal }: Lease, sure: boolean): string {
  if (!sure) return `The lease on "${name}" ends soon and the store does not confirm its renewal.`
  const reason: unknown = signal.reason
  return reason instanceof Error ? failureOf(reason).message : `The lease on "${name}" was lost.`
}

function killedText({ name }: Lease): string {
  return (
    `The guardian process killed the command: it received no renewal of the lease on "${name}" in time. ` +
    'This process was stopped, or the machine is overloaded.'
  )
}

function consequence({ onLost }: RunSettings): string {
  return onLost === 'warn'
    ? 'The command keeps running, without the lock.'
    : 'The command is ended.'
}
