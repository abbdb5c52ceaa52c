/**
 * Leases of etcd: the sessions of claims, and the one under which withdrawn claims are remembered.
 */
import { StoreUnavailableError } from '../../errors.js'
import { elapsedMs, momentOf, type Moment } from '../coordination/connection/moment.js'
import type { Exactness, ServiceSession } from '../coordination/connection/service.js'
import { isLeaseGone, isWorthAnotherMember } from './errors.js'
import {
  grantRequest,
  leaseRequest,
  METHODS,
  readLease,
  type LeaseAnswer,
} from './wire/messages.js'
import type { QuorumReads } from './connection/quorum-reads.js'

/** How many members are asked to keep a session alive before it is in doubt. */
const TRIES = 3

export class EtcdSession implements ServiceSession {
  readonly lease: bigint
  readonly timeoutMs: number
  readonly #reads: QuorumReads
  #heardAt: Moment

  /** @param openedAt when the request that granted the lease left */
  constructor(lease: bigint, timeoutMs: number, openedAt: Moment, reads: QuorumReads) {
    this.lease = lease
    this.timeoutMs = timeoutMs
    this.#heardAt = openedAt
    this.#reads = reads
  }

  /**
   * A session that was silent for its timeout is over, also where etcd knows its lease.
   *
   * A leader that has just lost its followers may find the lease expired. It revokes 16 leases at a
   * time, and each time waits up to 7 s for a leader. That is `revokeExpiredLeases` of etcd 3.4 to
   * 3.6. A later leader has given the lease its whole TTL again. The revocation may reach that
   * leader at any time after the network is whole.
   */
  async keepAlive(now: Moment): Promise<Moment | undefined> {
    if (!(await this.#renew())) return undefined
    const answeredAt = momentOf(this.#reads.connection.clock)
    if (elapsedMs(this.#heardAt, answeredAt) <= this.timeoutMs) {
      // The answer to an earlier request may come later.
      if (now.monotonicMs > this.#heardAt.monotonicMs) this.#heardAt = now
      return now
    }
    // What still stands under it is in the way of others. It is ended once no lease can count on
    // it. After a step of the wall clock leases still do, and then it expires.
    const silentMs = answeredAt.monotonicMs - this.#heardAt.monotonicMs
    if (silentMs > this.timeoutMs) await this.end().catch(() => undefined)
    return undefined
  }

  /** Resolves to whether etcd knows the lease. */
  async #renew(): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const { endpoint, term } = await this.#reads.confirmedMember()
      const answer = await this.#keepAliveAt(endpoint).catch((error: unknown) => {
        if (tries === TRIES || !isWorthAnotherMember(error)) throw error
        return undefined
      })
      // Behind one address there may be several members, and this answer may be another one's.
      if (answer && answer.term >= term) return answer.ttlSeconds > 0
      if (tries === TRIES) throw disagreement()
    }
  }

  end(): Promise<void> {
    return revokeLease(this.#reads, this.lease)
  }

  async #keepAliveAt(endpoint: number): Promise<LeaseAnswer> {
    // A stream by its signature; it answers each message, and ends when ours does.
    const body = await this.#reads.connection.request(METHODS.keepAlive, leaseRequest(this.lease), {
      repeatable: true,
      needsLeader: true,
      endpoint,
    })
    return readLease(body)
  }
}

/** Ends a lease, and what stands under it. */
export async function revokeLease({ connection }: QuorumReads, lease: bigint): Promise<void> {
  try {
    await connection.request(METHODS.revoke, leaseRequest(lease), { repeatable: true })
  } catch (error) {
    if (!isLeaseGone(error)) throw error
  }
}

function disagreement(): StoreUnavailableError {
  return new StoreUnavailableError(
    'The members of etcd do not agree which of them leads. Look at the servers and the network.',
    { store: 'etcd' },
  )
}

/** @throws StoreUnavailableError (`STORE_CONFIG`) when etcd grants a TTL that is not wanted. */
export async function grantLease(
  reads: QuorumReads,
  ttlSeconds: number,
  exactness: Exactness,
): Promise<EtcdSession> {
  const openedAt = momentOf(reads.connection.clock)
  const body = await reads.connection.request(METHODS.grant, grantRequest(ttlSeconds), {
    repeatable: true,
  })
  const { id, ttlSeconds: granted } = readLease(body)
  const session = new EtcdSession(id, granted * 1000, openedAt, reads)
  if (granted === ttlSeconds || (granted > ttlSeconds && exactness === 'or longer')) return session
  await session.end()
  throw new StoreUnavailableError(
    `etcd grants no lease of ${ttlSeconds} s; it would make it ${granted} s. ` +
      `Use a ttlMs of at least ${(granted - 1) * 1000}, or shorten the election timeout of the servers.`,
    { code: 'STORE_CONFIG', store: 'etcd' },
  )
}

/** How much longer than the claims they refuse the leases of tombstones live, in seconds. */
const TOMBSTONE_SPARE_S = 60

/**
 * The lease of tombstones. It is never kept alive, so that tombstones vanish by themselves. A fresh
 * lease replaces it while it still outlives the claims that it refuses.
 */
export class TombstoneLeases {
  readonly #reads: QuorumReads
  #lease: { id: Promise<EtcdSession>; untilMs: number } | undefined

  constructor(reads: QuorumReads) {
    this.#reads = reads
  }

  /**
   * Makes a request that may be repeated under a lease which lives for at least `ttlMs` from now.
   * etcd may have lost the lease: a backup was restored, or this machine has slept.
   */
  async under<T>(ttlMs: number, request: (lease: bigint) => Promise<T>): Promise<T> {
    const lease = await this.#ready(ttlMs)
    try {
      return await request(lease)
    } catch (error) {
      if (!isLeaseGone(error)) throw error
      if ((await this.#lease?.id)?.lease === lease) this.#lease = undefined
      return request(await this.#ready(ttlMs))
    }
  }

  async #ready(ttlMs: number): Promise<bigint> {
    const nowMs = this.#reads.connection.clock.monotonicMs()
    if (!this.#lease || this.#lease.untilMs < nowMs + ttlMs) {
      const ttlSeconds = Math.ceil(ttlMs / 1000) + TOMBSTONE_SPARE_S
      const granting = grantLease(this.#reads, ttlSeconds, 'or longer')
      const lease = { id: granting, untilMs: nowMs + ttlSeconds * 1000 }
      this.#lease = lease
      lease.id.catch(() => {
        if (this.#lease === lease) this.#lease = undefined
      })
    }
    return (await this.#lease.id).lease
  }
}
