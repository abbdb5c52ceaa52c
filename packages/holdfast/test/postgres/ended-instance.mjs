/**
 * Listens for a waiter through an instance of postgres.js that ends. Its arguments are the URL of
 * the server and a scene:
 *
 * - `ended`: the instance has ended before. Prints the outcome of the listening.
 * - `connecting`: the store is closed, and the instance ended, while the library connects.
 */
import { Socket } from 'node:net'
import { CAPACITY_ALL } from 'holdfast/store'
import { postgresStore } from 'holdfast/postgres'
import postgres from 'postgres'

/** How long a connection takes to a server that is far away, in milliseconds. */
const FAR_MS = 50

const [url, scene] = process.argv.slice(2)
const sql = postgres(url, { fetch_types: false, connect_timeout: 300 })
const store = postgresStore({ pool: sql })
await sql`select 1`
if (scene === 'ended') await sql.end()
const connecting = connectFromFar()

const waiter = {
  lock: 'order:42',
  id: 'client.waiter',
  kind: 'mutex',
  capacity: CAPACITY_ALL,
  weight: CAPACITY_ALL,
  ttlMs: 30_000,
  heartbeatMs: 1000,
  owner: { clientId: 'client', host: 'test', pid: process.pid },
}
const { ready } = store.watch(waiter, () => undefined)
const outcome = ready.then(
  () => 'listens',
  ({ code }) => code,
)
if (scene === 'ended') process.stdout.write(await outcome)
else await connecting
await store.close()
await sql.end()

/** Resolves when the next socket begins to connect, which then takes long. */
function connectFromFar() {
  const { connect } = Socket.prototype
  return new Promise((resolve) => {
    Socket.prototype.connect = function (...address) {
      Socket.prototype.connect = connect
      this.connecting = true
      setTimeout(() => connect.apply(this, address), FAR_MS)
      resolve()
      return this
    }
  })
}
