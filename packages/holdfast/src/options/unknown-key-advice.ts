/** What a caller probably meant by an option that the call does not know. */
import { editDistance } from './nearest-word.js'

/** Where an option belongs that another call knows. */
const BELONGS_TO: Readonly<Record<string, string>> = {
  waitMs: 'acquire, tryAcquire or run',
  signal: 'acquire, tryAcquire or run',
  atLeastMs: 'run',
  ttlMs: 'createLocks or the lock, such as mutex(name, { ttlMs })',
  renew: 'createLocks or the lock, such as mutex(name, { renew })',
  maxHoldMs: 'createLocks or the lock, such as mutex(name, { maxHoldMs })',
  abortBeforeMs: 'createLocks, the lock, or the call, such as acquire({ abortBeforeMs })',
  reentrant: 'createLocks or the lock, such as mutex(name, { reentrant })',
  maxWaiters: 'createLocks or the lock, such as mutex(name, { maxWaiters })',
  fairness: 'createLocks or the lock, such as mutex(name, { fairness })',
  namespace: 'createLocks',
  traceAcquires: 'createLocks',
  label: 'createLocks',
  permits: 'semaphore(name, { permits })',
  weight: 'acquire, tryAcquire or run of a semaphore',
  stripes: 'striped(name, { stripes })',
  read: 'run of singleFlight',
  now: 'steal',
  reason: 'steal',
  graceMs: 'close',
  client: 'the store, such as redisStore({ client })',
  pool: 'the store, such as postgresStore({ pool })',
  prefix: 'the store, such as redisStore({ client, prefix })',
  schema: 'the store, such as postgresStore({ pool, schema })',
  requestTimeoutMs: 'the store, such as redisStore({ client, requestTimeoutMs })',
  minReplicas: 'redisStore',
  directory: 'embeddedStore',
  version: 'the row, such as { table, key, version }',
  keyPrefix: 'the ioredis client',
  password: 'the client of the server',
  host: 'the client of the server',
  port: 'the client of the server',
  url: 'the client of the server',
}

/** What other libraries call an option of ours. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  timeout: 'waitMs',
  timeoutMs: 'waitMs',
  retries: 'waitMs',
  leaseTime: 'ttlMs',
  duration: 'ttlMs',
  expiry: 'ttlMs',
  tickTime: 'tickMs',
  limit: 'permits',
  count: 'weight',
}

/** Returns a sentence that says what to write instead of an unknown key. */
export function adviceOn(key: string, known: readonly string[]): string {
  const meant = nearestKey(key, known) ?? otherName(key, known)
  if (Object.hasOwn(BELONGS_TO, key) && meant?.toLowerCase() !== key.toLowerCase())
    return `Give it to ${BELONGS_TO[key]}.`
  if (meant !== undefined) return `Did you mean "${meant}"?`
  return known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
}

function otherName(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(OTHER_NAMES, key) ? OTHER_NAMES[key] : undefined
  return name !== undefined && known.includes(name) ? name : undefined
}

/** Returns the known word that is nearest to a misspelt one, if one is near enough. */
function nearestKey(word: string, known: readonly string[]): string | undefined {
  const wrong = word.toLowerCase()
  const [best] = known
    .map((name) => ({ name, distance: distanceOf(wrong, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.ceil(wrong.length / 3))
    .sort((one, other) => one.distance - other.distance)
  return best?.name
}

/** A word that contains the other one is near: `ttl` and `ttlMs`, `abortSignal` and `signal`. */
function distanceOf(one: string, other: string): number {
  if (one === other) return 0
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return short.length > 2 && long.includes(short) ? 1 : editDistance(one, other)
}
