/**
 * The main path of `holdfast run`: acquires the lock, runs the command, keeps the lock as long as
 * asked, releases it.
 */
import { createLocks, type Lease, type Locks } from '../../index.js'
import { EXIT, exitCodeOf } from '../exit-codes.js'
import { failureOf } from '../failure.js'
import { note } from '../output/note.js'
import type { StoreLocation } from '../stores/locate.js'
import { openStore } from '../stores/open-store.js'
import { assertStartable } from '../supervise/find-command.js'
import { settlesWithin } from '../../clock/settles-within.js'
import { lockOf } from './lock-of.js'
import { explainFailure, noAnswer } from './busy.js'
import { childEnv } from './child-env.js'
import { execute, type Execution } from './execute.js'
import { interruption, unlessAborted, type Departure } from './interrupted.js'
import type { LockSettings, RunSettings } from './settings.js'
import type { LockStatus, RunStatus } from './status.js'
import { keepLock } from './keep-lock.js'
import { endHolders } from './replace.js'
import { StoreContact } from './store-contact.js'
import { waitUnderHeld } from './under-held.js'
import { refuseToWaitForOneself, reportWait } from './waiting.js'

export interface LockContext extends Departure {
  readonly settings: LockSettings
  readonly location: StoreLocation
  /** Filled in step by step, so that it is true at any end. */
  readonly status: LockStatus
}

export interface RunContext extends LockContext {
  readonly settings: RunSettings
  readonly status: RunStatus
}

export async function runUnderLock(context: RunContext): Promise<void> {
  assertStartable(context.settings.command[0], process.env)
  await withLock(context, async (lease) => {
    const grantedMs = performance.now()
    try {
      await work(context, lease, grantedMs)
    } finally {
      context.status.heldMs = Math.round(performance.now() - grantedMs)
      await giveBack(context, lease)
    }
  })
}

/** Opens the store, acquires the lock, calls `use`, and closes the store. */
export async function withLock(
  context: LockContext,
  use: (lease: Lease, locks: Locks) => Promise<void>,
): Promise<void> {
  const { settings, location } = context
  const store = await openStore(location)
  const locks = createLocks(store, { ttlMs: settings.ttlMs, label: settings.label })
  const away = new AbortController()
  const contact = new StoreContact({
    clientId: locks.clientId,
    limitMs: settings.outageMs,
    quiet: settings.json,
    giveUp: (failure) => away.abort(failure ?? noAnswer(settings)),
  })
  try {
    await use(await takeLock(context, locks, contact, away.signal), locks)
  } finally {
    contact.close()
    await closeWithin(locks, closeMs(contact))
  }
}

async function takeLock(
  context: LockContext,
  locks: Locks,
  contact: StoreContact,
  away: AbortSignal,
): Promise<Lease> {
  const { settings, status, location } = context
  const ended = AbortSignal.any([interruption(settings.name, context), away])
  const startedMs = performance.now()
  const quiet = settings.json ? () => {} : reportWait(locks, settings.name, location)
  try {
    await unlessAborted(ended, () => refuseToWaitForOneself(locks, settings.name, process.env))
    const { name, sharing, waitMs } = settings
    if (settings.replace) await unlessAborted(ended, () => endHolders(locks, settings))
    const lock = lockOf(locks, name, sharing)
    const lease = await waitUnderHeld(locks, process.env, () =>
      lock.acquire({ waitMs, signal: ended }),
    )
    contact.close()
    status.claimId = lease.claimId
    status.token = lease.token?.toString() ?? null
    return lease
  } catch (error) {
    throw await unlessAborted(ended, () => explainFailure(error, locks, settings, contact))
  } finally {
    quiet()
    status.waitedMs = Math.round(performance.now() - startedMs)
  }
}

async function work(context: RunContext, lease: Lease, grantedMs: number): Promise<void> {
  const { settings, status, signals, location } = context
  const heldMs = (): number => performance.now() - grantedMs
  const facts = {
    name: settings.name,
    claimId: lease.claimId,
    token: lease.token,
    ttlMs: settings.ttlMs,
    store: location,
  }
  // During a long wait the command may have been removed, or made not executable.
  assertStartable(settings.command[0], process.env)
  const env = childEnv(process.env, facts)
  const execution = await execute({ lease, settings, env, signals, heldMs: heldMs() })
  noteEnd(status, execution)
  if (!execution.askedToEnd)
    await keepLock(lease, settings.atLeastMs - heldMs(), signals, settings.json)
}

function noteEnd(status: RunStatus, { status: command, ended, loss }: Execution): void {
  status.command = command
  status.outcome = ended ?? (loss === undefined ? 'ran' : 'lost')
  if (status.outcome === 'lost' && loss !== undefined)
    status.error = { code: 'LOCK_LOST', message: loss }
  status.exitCode =
    ended === 'lost' ? EXIT.lockLost : ended === 'at-most' ? EXIT.atMost : exitCodeOf(command)
}

/**
 * Releases the lock. The command's own outcome stands: a failed release must not repeat a
 * successful job.
 */
async function giveBack({ status, settings }: RunContext, lease: Lease): Promise<void> {
  try {
    status.release = await lease.release()
    if (status.release === 'lost' && status.outcome === 'ran' && !settings.json) {
      note(`the lock "${settings.name}" had ended before it was released; see --ttl.`)
    }
  } catch (error) {
    if (!settings.json)
      note(`the lock could not be released and will expire by itself: ${failureOf(error).message}`)
  }
}

/** Closes within `ms`: a store that does not answer must not delay the end of a finished job. */
async function closeWithin(locks: Locks, ms: number): Promise<void> {
  // A failure changes nothing: the command's outcome stands, and an unreleased claim expires.
  await settlesWithin(locks.close(), ms)
}

/** A claim on a store that does not answer expires by itself. */
function closeMs({ answers, hasAnswered }: StoreContact): number {
  if (answers) return 3_000
  return hasAnswered ? 500 : 100
}
