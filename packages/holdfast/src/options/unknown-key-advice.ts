/** What a caller probably meant by an option that the call does not know. */
import { nearest } from './nearest-word.js'

/** Where options belong that another call knows. */
const PLACES: readonly (readonly [place: string, keys: string])[] = [
  ['acquire, tryAcquire or run', 'waitMs signal'],
  ['run', 'atLeastMs'],
  ['oncePerTick', 'slot overlap'],
  ['createLocks, the lock, such as mutex(name, options), or run', 'awaitRelease'],
  [
    'createLocks, the lock, such as mutex(name, options), or acquire, tryAcquire or run',
    'ttlMs renew maxHoldMs abortBeforeMs',
  ],
  ['createLocks or the lock, such as mutex(name, options)', 'reentrant maxWaiters fairness'],
  ['createLocks', 'namespace traceAcquires label deadlockCheckMs'],
  ['semaphore', 'permits'],
  ['acquire, tryAcquire or run of a semaphore', 'weight'],
  ['striped', 'stripes'],
  ['run of singleFlight', 'read'],
  ['steal', 'now reason'],
  ['close', 'graceMs'],
  ['the store, such as redisStore({ client })', 'client prefix requestTimeoutMs minReplicas'],
  ['the store, such as postgresStore({ pool })', 'pool schema autoMigrate'],
  ['embeddedStore', 'directory'],
  ['the row, such as { table, key, version }', 'version'],
  ['the ioredis client', 'keyPrefix'],
  ['the client of the server', 'password host port url'],
]

/** What other libraries call an option of ours. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  timeout: 'waitMs',
  timeoutMs: 'waitMs',
  retries: 'waitMs',
  acquireTimeout: 'waitMs',
  acquireAttemptsLimit: 'waitMs',
  retryCount: 'waitMs',
  retryDelay: 'waitMs',
  retryInterval: 'waitMs',
  lockTimeout: 'ttlMs',
  stale: 'ttlMs',
  refreshInterval: 'renew',
  leaseTime: 'ttlMs',
  duration: 'ttlMs',
  expiry: 'ttlMs',
  tickTime: 'tickMs',
  keyPrefix: 'prefix',
  hosts: 'endpoints',
  url: 'endpoints',
  limit: 'permits',
  count: 'weight',
}

/**
 * Returns a sentence that says what to write instead of an unknown key.
 *
 * @param call the call that does not know it: the advice names only options of the same store
 */
export function adviceOn(key: string, known: readonly string[], call = ''): string {
  const meant = nearest(key, known) ?? otherName(key, known)
  const [place] =
    PLACES.find(([name, keys]) => keys.split(' ').includes(key) && isFor(name, known, call)) ?? []
  if (place !== undefined && meant?.toLowerCase() !== key.toLowerCase())
    return `Give it to ${place}.`
  if (meant !== undefined) return `Did you mean "${meant}"?`
  const renamed = Object.hasOwn(OTHER_NAMES, key) ? OTHER_NAMES[key] : undefined
  const [where] = PLACES.find(([, keys]) => keys.split(' ').includes(renamed ?? '')) ?? []
  if (where !== undefined && !call.endsWith('Store'))
    return `It is called "${renamed}" here: give it to ${where}.`
  return known.length === 0 ? elsewhere(key) : `It takes ${known.join(', ')}.`
}

/** Whether the advice to give an option to a place may help the caller of a call. */
function isFor(place: string, known: readonly string[], call: string): boolean {
  if (!call.endsWith('Store')) return true
  if (place.startsWith('the store') || place.endsWith('Store')) return false
  const hasClient = ['client', 'clients', 'pool'].some((name) => known.includes(name))
  return hasClient || !place.includes('client')
}

/** Where a misspelt option belongs that was given to a call without options. */
function elsewhere(key: string): string {
  for (const [place, keys] of PLACES) {
    const near = nearest(key, keys.split(' '))
    if (near !== undefined) return `It takes none. Give "${near}" to ${place}.`
  }
  return 'It takes none.'
}

function otherName(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(OTHER_NAMES, key) ? OTHER_NAMES[key] : undefined
  return name !== undefined && known.includes(name) ? name : undefined
}
