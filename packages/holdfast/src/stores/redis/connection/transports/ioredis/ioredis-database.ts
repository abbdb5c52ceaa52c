/**
 * The database that a client of ioredis is to be in.
 *
 * The library calls a connection ready also when SELECT was refused, by the user's rights or for a
 * missing database. It sends commands all the same: into database 0, where no other client looks
 * for the lock. So each connection has to answer a SELECT of ours before anything else goes out
 * over it.
 */
import type { IoRedisDuplicate } from '../../clients.js'

type Client = Pick<IoRedisDuplicate, 'status' | 'options' | 'call' | 'on'>

interface Known {
  /** The database that the connection of now has confirmed. */
  confirmed: number | undefined
  confirming: Promise<void> | undefined
}

const known = new WeakMap<object, Known>()

/** The database in which each connection begins. */
export const FIRST_DATABASE = 0

/** Whether the connection has confirmed that it is in this database. */
export function isConfirmed(client: Client, db: number): boolean {
  return known.get(client)?.confirmed === db && client.status === 'ready'
}

/**
 * Sends when the connection is known to be in its database. Rejects as SELECT does where the server
 * refuses it.
 */
export async function inDatabase<T>(client: Client, send: () => Promise<T>): Promise<T> {
  for (;;) {
    const db = databaseOf(client)
    if (db === FIRST_DATABASE || isConfirmed(client, db)) return send()
    // After the SELECT the connection may be another one.
    await confirm(client, known.get(client) ?? watched(client), db)
  }
}

interface Condition {
  readonly select?: unknown
}

/**
 * Returns the database that the client is to be in. A SELECT of its caller is not among its
 * settings, and not public in the library.
 */
export function databaseOf(client: Client): number {
  const { prevCondition: before, condition: now } = client as Client & {
    readonly prevCondition?: Condition | null
    readonly condition?: Condition | null
  }
  // During a reconnection the state before it counts: the library goes back to its database.
  const selected = before?.select ?? now?.select
  return typeof selected === 'number' ? selected : (client.options.db ?? FIRST_DATABASE)
}

function watched(client: Client): Known {
  const state: Known = { confirmed: undefined, confirming: undefined }
  known.set(client, state)
  client.on('close', () => (state.confirmed = undefined))
  return state
}

/** Through the library, which connects where it is not connected yet, and fails by its settings. */
function confirm(client: Client, state: Known, db: number): Promise<void> {
  state.confirming ??= client
    .call('SELECT', String(db))
    .then(() => void (state.confirmed = db))
    .finally(() => (state.confirming = undefined))
  return state.confirming
}
