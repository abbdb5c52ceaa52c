/** The options of `createLocks` for a worker thread that renews: `renewFrom`. */
import { LockUsageError, UnsupportedLockError } from '../errors.js'
import type { Store } from '../store/contract.js'
import { sourceOf, type StoreSource } from '../store/source.js'
import { describe } from './describe.js'
import { checkDuration, type LocksOptions } from './lock-options.js'

/** A scheme of at least two letters: one letter is a drive of Windows. */
const URL_START = /^[a-z][a-z\d+.-]+:/i

/** Where the store of a worker is, and for how long it renews. */
export interface HelperOptions {
  readonly source: StoreSource
  readonly blockedAtMostMs: number
}

/**
 * Returns the settings of a worker that renews.
 * @throws LockUsageError when an option makes no sense, or the worker could not open the store.
 * @throws UnsupportedLockError where leases end with a process or a session.
 */
export function helperSettings(store: Store, options: LocksOptions): HelperOptions {
  const { renewFrom, blockedAtMostMs, workerStore } = options
  if (renewFrom !== 'worker')
    throw new LockUsageError(`renewFrom must be 'worker', not ${describe(renewFrom)}.`)
  if (blockedAtMostMs === undefined) {
    throw new LockUsageError(
      "renewFrom: 'worker' needs blockedAtMostMs: how long a blocked event loop may keep its leases, in milliseconds. It has no default.",
    )
  }
  checkDuration('blockedAtMostMs', blockedAtMostMs, { min: 1 })
  if ((options.clock ?? store.clock) !== undefined)
    throw new LockUsageError("renewFrom: 'worker' works by the system's clock. Leave clock out.")
  checkExpiry(store)
  return { source: moduleOf(workerStore) ?? knownSource(store), blockedAtMostMs }
}

/** @throws LockUsageError for options of a worker without `renewFrom`. */
export function checkNoHelper({ blockedAtMostMs, workerStore }: LocksOptions): void {
  if (blockedAtMostMs === undefined && workerStore === undefined) return
  const name = blockedAtMostMs === undefined ? 'workerStore' : 'blockedAtMostMs'
  throw new LockUsageError(`${name} is an option of renewFrom: 'worker'. Give both, or none.`)
}

/** @throws UnsupportedLockError where no second connection can renew a lease. */
function checkExpiry({ name, traits }: Store): void {
  if (traits.expiry === 'server' || traits.expiry === 'machine') return
  const why =
    traits.expiry === 'session'
      ? 'its leases end with the session of the connection that acquired them'
      : 'its locks exist in one thread only'
  throw new UnsupportedLockError(`renewFrom: 'worker' cannot renew on the ${name} store: ${why}.`, {
    store: name,
  })
}

function moduleOf(workerStore: LocksOptions['workerStore']): StoreSource | undefined {
  if (workerStore === undefined) return undefined
  const isUrl = workerStore instanceof URL
  if (isUrl || (typeof workerStore === 'string' && workerStore !== '')) {
    const text = String(workerStore)
    if (/^file:/i.test(text) || (!isUrl && !URL_START.test(text))) return { module: text }
  }
  throw new LockUsageError(
    `workerStore must be the path or the file: URL of a module, not ${isUrl ? workerStore.href : describe(workerStore)}.`,
  )
}

function knownSource(store: Store): StoreSource {
  const source = sourceOf(store)
  if (source) return source
  throw new LockUsageError(
    `renewFrom: 'worker' needs a store that a worker thread can open, and the client of this ${store.name} store was passed in: a client cannot cross threads. ` +
      "Open the store with openStore(url) of 'holdfast/url', or name a module that exports it in workerStore.",
    { store: store.name },
  )
}
