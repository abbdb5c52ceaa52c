/** Leases of etcd: the sessions of claims, and the one under which withdrawn claims are remembered. */
import { systemClock } from '../../clock/clock.js'
import { StoreUnavailableError } from '../../errors.js'
import type { Exactness, PortSession } from '../sequenced/port.js'
import type { Connection } from './connection.js'
import { isLeaseGone } from './failures.js'
import { grantRequest, leaseRequest, METHODS, readLease } from './messages.js'

export class EtcdSession implements PortSession {
  readonly lease: bigint
  readonly timeoutMs: number
  readonly #connection: Connection

  constructor(lease: bigint, timeoutMs: number, connection: Connection) {
    this.lease = lease
    this.timeoutMs = timeoutMs
    this.#connection = connection
  }

  async keepAlive(): Promise<boolean> {
    // A stream by its signature; it answers each message, and ends when ours does.
    const body = await this.#connection.request(METHODS.keepAlive, leaseRequest(this.lease), {
      repeatable: true,
      needsLeader: true,
    })
    return readLease(body).ttlSeconds > 0
  }

  async end(): Promise<void> {
    try {
      await this.#connection.request(METHODS.revoke, leaseRequest(this.lease), { repeatable: true })
    } catch (error) {
      if (!isLeaseGone(error)) throw error
    }
  }
}

/** @throws StoreUnavailableError (`STORE_CONFIG`) when etcd grants a TTL that is not wanted. */
export async function grantLease(
  connection: Connection,
  ttlSeconds: number,
  exactness: Exactness,
): Promise<EtcdSession> {
  const body = await connection.request(METHODS.grant, grantRequest(ttlSeconds), { repeatable: true })
  const { id, ttlSeconds: granted } = readLease(body)
  const session = new EtcdSession(id, granted * 1000, connection)
  if (granted === ttlSeconds || (granted > ttlSeconds && exactness === 'or longer')) return session
  await session.end()
  throw new StoreUnavailableError(
    `etcd grants no lease of ${ttlSeconds} s; it would make it ${granted} s. ` +
      `Use a ttlMs of at least ${(granted - 1) * 1000}, or shorten the election timeout of the servers.`,
    { code: 'STORE_CONFIG', store: 'etcd' },
  )
}

/** How much longer than the claims they refuse the leases of tombstones live, in seconds. */
const GRAVE_SPARE_S = 60

/**
 * The lease of tombstones: never kept alive, so that they vanish by themselves, and exchanged for a fresh one while it
 * still outlives the claims that it refuses.
 */
export class Graveyard {
  readonly #connection: Connection
  #lease: { id: Promise<EtcdSession>; untilMs: number } | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** A lease that lives for at least `ttlMs` from now. */
  async lease(ttlMs: number): Promise<bigint> {
    const nowMs = systemClock.monotonicMs()
    if (!this.#lease || this.#lease.untilMs < nowMs + ttlMs) {
      const ttlSeconds = Math.ceil(ttlMs / 1000) + GRAVE_SPARE_S
      const granting = grantLease(this.#connection, ttlSeconds, 'or longer')
      const lease = { id: granting, untilMs: nowMs + ttlSeconds * 1000 }
      this.#lease = lease
      lease.id.catch(() => {
        if (this.#lease === lease) this.#lease = undefined
      })
    }
    return (await this.#lease.id).lease
  }
}
