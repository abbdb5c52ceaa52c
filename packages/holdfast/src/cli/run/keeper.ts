/**
 * The keeper of `acquire --pid`: a process that renews a handle while another process runs, and
 * releases it when that ends. It is `holdfast renew HANDLE --pid PID`, in a session of its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from '../../index.js'
import { decodeHandle } from '../../lease/adopt/handle.js'
import { SystemError, UsageError } from '../cli-error.js'
import { failureOf } from '../failure.js'
import { releaseHandle } from './release-handle.js'
import type { StoreLocation } from '../stores/locate.js'
import { isAlive, lookUp } from '../supervise/processes.js'
import { startFailure } from '../supervise/start-failure.js'

/** A process that a later one with the same number is not taken for. */
export interface ProcessName {
  readonly pid: number
  readonly startTime: string
}

/** How soon the end of the process frees the lock. */
const LOOK_MS = 200
/** How soon a release by the handle ends the keeper, however long the TTL is. */
const MOST_BETWEEN_RENEWALS_MS = 5000
const READY = 'Keeping.\n'

/**
 * Reads PID, or PID:STARTTIME as a keeper gets it.
 * @throws UsageError when there is no such process
 */
export function processOf(text: string): ProcessName {
  const [, digits = '', startTime] = /^(\d{1,10})(?::(.+))?$/.exec(text) ?? []
  const found = digits === '' ? undefined : lookUp(Number(digits))
  if (found !== undefined && !found.zombie && (startTime ?? found.startTime) === found.startTime)
    return { pid: found.pid, startTime: found.startTime }
  throw new UsageError(
    `--pid ${JSON.stringify(text)} is no running process. In a shell write --pid $$.`,
  )
}

/** Starts a keeper, and resolves when it keeps. The handle stays usable. */
export async function startKeeper(
  locks: Locks,
  handle: string,
  { pid, startTime }: ProcessName,
  { url, modules }: StoreLocation,
): Promise<void> {
  const args = [process.argv[1] as string, 'renew', handle, '--pid', `${pid}:${startTime}`]
  const keeper = spawn(process.execPath, args, {
    // It keeps no stream of the script open, or `$(holdfast acquire …)` would not end.
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
    // A password must not stand among the arguments.
    env: { ...process.env, HOLDFAST_STORE: url, HOLDFAST_MODULES: modules },
  })
  // A busy machine may take longer than a short TTL to start it.
  const timer = setInterval(() => {
    locks.renewHandle(handle).catch(() => undefined) // the keeper reports a lost lease by its end
  }, everyMsOf(handle))
  try {
    const keeps = once(keeper.stdout, 'data').then(() => true)
    if (await Promise.race([keeps, once(keeper, 'exit').then(() => false)])) return
  } catch (cause) {
    throw startFailure('keeper process', cause as NodeJS.ErrnoException)
  } finally {
    clearInterval(timer)
    keeper.stdout.destroy()
    keeper.unref()
  }
  throw new SystemError('The keeper process ended before it kept the lock. Try again.')
}

function everyMsOf(handle: string): number {
  return Math.min(decodeHandle(handle).ttlMs / 3, MOST_BETWEEN_RENEWALS_MS)
}

/**
 * Renews the lease of a handle until the process ends, and releases it then.
 * @throws LockLostError when it is lost, or was released by its handle.
 */
export async function keepWhile(
  locks: Locks,
  handle: string,
  { pid, startTime }: ProcessName,
  begun: (text: string) => unknown,
): Promise<void> {
  const everyMs = everyMsOf(handle)
  await locks.renewHandle(handle)
  begun(READY)
  for (let dueMs = performance.now() + everyMs; isAlive(pid, startTime);) {
    await sleep(Math.min(LOOK_MS, everyMs))
    if (performance.now() < dueMs) continue
    if (await renewed(locks, handle)) dueMs = performance.now() + everyMs
  }
  await releaseHandle(locks, handle)
}

/** Resolves to whether the store answered. While it does not, the next look asks again. */
async function renewed(locks: Locks, handle: string): Promise<boolean> {
  try {
    await locks.renewHandle(handle)
    return true
  } catch (error) {
    if (failureOf(error).code === 'STORE_UNAVAILABLE') return false
    throw error
  }
}
