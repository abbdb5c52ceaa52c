/**
 * The database that a client of ioredis is to be in.
 *
 * The library calls a connection ready also when SELECT was refused, by the user's rights or since
 * there is no such database, and sends what it is given all the same: into database 0, where nobody
 * else looks for the lock. So each connection has to answer a SELECT of ours before anything else
 * goes out over it.
 */
import type { IoRedisDuplicate } from '../clients.js'

type Client = Pick<IoRedisDuplicate, 'status' | 'options' | 'call' | 'on'>

interface Known {
  /** The database that the connection of now has confirmed. */
  confirmed: number | undefined
  confirming: Promise<void> | undefined
}

const known = new WeakMap<object, Known>()

/**
 * Sends when the connection is known to be in its database. Rejects as SELECT does where it is
 * refused.
 */
export function inDatabase<T>(client: Client, send: () => Promise<T>): Promise<T> {
  const db = selectedBy(client) ?? client.options.db
  // Where a connection begins.
  if (db === undefined || db === 0) return send()
  const state = known.get(client) ?? watched(client)
  if (state.confirmed === db && client.status === 'ready') return send()
  // After that the connection may be another one.
  return confirm(client, state, db).then(() => inDatabase(client, send))
}

/**
 * Where SELECT has moved the client to, which is not among its settings. Not public in the library.
 */
export function selectedBy(client: Client): number | undefined {
  // While a connection is being made anew, the one before tells: the library goes back to its
  // database.
  const [before, now] = [
    Reflect.get(client, 'prevCondition'),
    Reflect.get(client, 'condition'),
  ] as unknown[]
  return selectedIn(before) ?? selectedIn(now)
}

function watched(client: Client): Known {
  const state: Known = { confirmed: undefined, confirming: undefined }
  known.set(client, state)
  client.on('close', () => (state.confirmed = undefined))
  return state
}

/**
 * Through the library, which connects where it is not connected yet, and gives up as it is told to.
 */
function confirm(client: Client, state: Known, db: number): Promise<void> {
  state.confirming ??= client
    .call('SELECT', String(db))
    .then(() => void (state.confirmed = db))
    .finally(() => (state.confirming = undefined))
  return state.confirming
}

function selectedIn(condition: unknown): number | undefined {
  if (typeof condition !== 'object' || condition === null || !('select' in condition))
    return undefined
  return typeof condition.select === 'number' ? condition.select : undefined
}
