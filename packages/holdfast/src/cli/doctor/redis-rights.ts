/**
 * Performs every operation of the store on a lock of its own, so that a missing right shows now.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CliError } from '../cli-error.js'
import { CAPACITY_ALL, type Claim, type Store } from '../../store/index.js'
import { settlesWithin } from '../../clock/settles-within.js'

/** After this many withdrawn claims of one lock the store removes old tombstones. */
const WITHDRAWALS = 300
const TTL_MS = 10_000
const HEARTBEAT_MS = 1000
const MESSAGE_MS = 3000

/**
 * @param messageMs the longest time that a message from the server may take
 * @throws what the error of the store for the first operation that this user may not do. A CliError
 * when no message arrives, which no reply of the server reports
 */
export async function exerciseRights(store: Store, messageMs = MESSAGE_MS): Promise<void> {
  const lock = `holdfast-doctor:${randomUUID()}`
  const reader = claim(lock, 1)
  const writer = claim(lock, CAPACITY_ALL)
  const granted = await hearing(store, writer, messageMs, async () => {
    await store.attempt(reader, { enqueue: true, tokens: 1 })
    await store.attempt(writer, { enqueue: true, tokens: 1 })
    await store.attempt(writer, { enqueue: true, tokens: 1 })
    const [renewal] = await store.renew([reader])
    if (renewal?.outcome === 'unknown') throw renewal.cause
    await store.inspect([lock])
    await store.list({ prefix: lock, limit: 10 })
    await store.withdraw(reader)
  })
  await store.downgrade(writer)
  await store.steal(lock, { now: true })
  const others = Array.from({ length: WITHDRAWALS }, () => claim(lock, CAPACITY_ALL))
  const [holder, waiter] = [claim(lock, CAPACITY_ALL), claim(lock, 1)]
  await store.attempt(holder, { enqueue: true, tokens: 1 })
  await store.attempt(waiter, { enqueue: true, tokens: 1 })
  await store.withdraw(waiter)
  await Promise.all([holder, writer, ...others].map(async (one) => store.withdraw(one)))
  if (granted) return
  throw new CliError(
    'The message that a lock is free does not arrive, so waiters have to poll. ' +
      'Allow this user +publish, +subscribe and the channels of the store, as "holdfast doctor --print-acl" has them.',
    'STORE_AUTH',
  )
}

function claim(lock: string, weight: number): Claim {
  return {
    lock,
    id: randomUUID(),
    kind: 'readWriteLock',
    capacity: CAPACITY_ALL,
    weight,
    ttlMs: TTL_MS,
    heartbeatMs: HEARTBEAT_MS,
    owner: { clientId: 'holdfast doctor', host: hostname(), pid: process.pid },
  }
}

/**
 * Listens for a claim while `act` runs, and a little longer. Resolves to whether a message granted
 * it.
 */
async function hearing(
  store: Store,
  waiter: Claim,
  messageMs: number,
  act: () => Promise<void>,
): Promise<boolean> {
  const { promise, resolve } = withResolver<boolean>()
  const watch = store.watch(waiter, (grant) => resolve(grant !== undefined))
  try {
    // Without the right to listen the watch is never ready.
    const ready = watch.ready ?? Promise.resolve()
    if (await settlesWithin(ready, messageMs)) await ready
    await act()
    return (await settlesWithin(promise, messageMs)) && (await promise)
  } finally {
    watch.close()
  }
}

function withResolver<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}
