/** Closing a client: in order, and never under running code. */
import { pendingCall } from '../async/keep-alive.js'
import { settlesWithin } from '../clock/settles-within.js'
import { LockError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { OpenLease } from '../lease/services.js'
import { checkDuration } from '../options/lock-options.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { Store } from '../store/contract.js'

/** The options of `locks.close`. */
export interface CloseOptions {
  /**
   * How long callbacks may take to end after their signals aborted, in milliseconds. Default 5 000.
   */
  readonly graceMs?: number | undefined
}

const CLOSE_KEYS: KnownKeys<CloseOptions> = { graceMs: 1 }

/** How many clients use a store: the last one to leave closes it. */
const users = new WeakMap<Store, number>()
const closing = new WeakMap<Client, Promise<void>>()

export function useStore(store: Store): void {
  users.set(store, (users.get(store) ?? 0) + 1)
}

/** Closes a client. A second call waits for the first. */
export async function closeClient(client: Client, options: CloseOptions = {}): Promise<void> {
  checkKeys('close', options, CLOSE_KEYS)
  const { graceMs = 5000 } = options
  checkDuration('graceMs', graceMs, { min: 0, infinite: true })
  let done = closing.get(client)
  if (!done) closing.set(client, (done = pendingCall(close(client, graceMs))))
  return done
}

async function close(client: Client, graceMs: number): Promise<void> {
  client.runtime.closed = true
  client.runtime.waits.close()
  const reason = new LockError('LOCKS_CLOSED', 'The locks were closed; stop the work under them.', {
    store: client.runtime.store.name,
  })
  const leases = client.leases.values()
  for (const lease of leases) lease.askToStop(reason)
  await withinGrace(client, graceMs, leases)
  await Promise.all(leases.map((lease) => endLease(lease)))
  client.runtime.runs.close()
  await client.withdrawals.end()
  await client.renewals.helper?.close()
  await leaveStore(client.runtime.store)
}

/** A callback that is still at work keeps its lease until that ends by itself. */
async function endLease(lease: OpenLease): Promise<void> {
  if (lease.busy) lease.abandon()
  else await lease.releaseQuietly()
}

async function withinGrace(
  client: Client,
  graceMs: number,
  leases: readonly OpenLease[],
): Promise<void> {
  const busy = leases.filter((lease) => lease.busy)
  if (busy.length === 0 || graceMs === 0) return
  const idle = Promise.all(busy.map((lease) => lease.idle()))
  await settlesWithin(idle, graceMs, { clock: client.runtime.clock })
}

async function leaveStore(store: Store): Promise<void> {
  const left = (users.get(store) ?? 1) - 1
  users.set(store, left)
  if (left === 0) await store.close()
}
