/**
 * One connection of a session to a service like ZooKeeper. It answers requests in their order. When
 * it breaks, the outcome of those without an answer is unknown.
 */
import { momentOf, type Moment } from 'holdfast/internal'
import type { Dice } from '@holdfast/workload'
import type { Link } from '../../world/link.js'
import type { Process } from '../../world/process.js'
import { OrderedFailure } from './failure.js'
import {
  HANDED_OVER_MS,
  type Followers,
  type OrderedPeer,
  type OrderedRequest,
  type Settled,
} from './followers.js'
import type { CoordinationServer } from '../server.js'

export interface OrderedGround {
  readonly server: CoordinationServer
  readonly followers: Followers
  readonly process: Process
  readonly link: Link
  readonly dice: Dice
  readonly requestTimeoutMs: number
}

export interface PendingRequest {
  readonly request: OrderedRequest<unknown>
  /** @param since the sign of life that is proven, if a quorum agreed to the request */
  readonly settle: (settled: Settled<unknown>, since: Moment) => void
  readonly fail: (failure: OrderedFailure) => void
}

export interface ConnectionListener {
  /** A node that is watched has changed or gone. */
  changed(key: string): void
  /** The connection is over. Requests without an answer have failed before. */
  down(): void
}

/** How long a server is given to greet, in milliseconds. */
export const GREETING_MS = 250
/** A connection on which something got lost breaks within this time, in milliseconds. */
const STALLED_MS = 400
/** How long after its answer a sign of life has certainly been handed over, in milliseconds. */
export const RIPE_MS = HANDED_OVER_MS + 50

interface Sign {
  readonly sent: Moment
  readonly answeredMs: number
}

export class OrderedConnection {
  readonly #ground: OrderedGround
  readonly #lane: number
  readonly #peer: OrderedPeer
  readonly #sent = new Set<PendingRequest>()
  /** The first one is proven. */
  readonly #signs: Sign[]
  #id: bigint | undefined
  #listener: ConnectionListener | undefined
  #isStalled = false
  #isOver = false

  private constructor(ground: OrderedGround) {
    const { process, link } = ground
    this.#ground = ground
    this.#lane = link.lane()
    this.#signs = [{ sent: momentOf(process), answeredMs: -Infinity }]
    this.#peer = {
      lagMs: () => link.conditions.lagMs,
      event: (key) => {
        const arrives = link.wake(() =>
          process.receive(() => {
            if (!this.#isOver && !this.#isStalled) this.#listener?.changed(key)
          }),
        )
        if (!arrives) this.#stall()
      },
      closed: () => void link.reply(this.#lane, () => process.receive(() => this.end())),
    }
  }

  /** Resolves to a connection, or to why there is none. */
  static open(
    ground: OrderedGround,
    known: bigint | undefined,
    timeoutMs: number,
  ): Promise<OrderedConnection | 'session-expired' | 'no-server'> {
    const { server, followers, process, link } = ground
    const connection = new OrderedConnection(ground)
    return new Promise((resolve) => {
      const timer = process.timer(GREETING_MS, () => resolve('no-server'))
      const answer = (found: OrderedConnection | 'session-expired' | 'no-server'): void =>
        void link.reply(connection.#lane, () =>
          process.receive(() => {
            timer.cancel()
            resolve(found)
          }),
        )
      link.requestOnce(connection.#lane, () => {
        if (server.host.down) answer('no-server')
        else {
          server.host.receive(() => {
            connection.#id = followers.attach(known, timeoutMs, connection.#peer)
            answer(connection.#id === undefined ? 'session-expired' : connection)
          })
        }
      })
    })
  }

  /** The session, as the server knows it. */
  get id(): bigint {
    return this.#id as bigint
  }

  listen(listener: ConnectionListener): void {
    this.#listener = listener
  }

  send(pending: PendingRequest): void {
    const { server, followers, process, link, requestTimeoutMs } = this.#ground
    const left = momentOf(process)
    const since = this.#provenBy(left.monotonicMs)
    this.#sent.add(pending)
    process.timer(requestTimeoutMs, () => {
      if (this.#sent.has(pending)) this.end()
    })
    if (this.#isStalled) return
    const answer = (settled: Settled<unknown>): void => {
      const arrives = link.reply(this.#lane, () =>
        process.receive(() => {
          if (this.#isStalled || !this.#sent.delete(pending)) return
          this.#signs.push({ sent: left, answeredMs: process.monotonicMs() })
          pending.settle(settled, since)
        }),
      )
      if (!arrives) this.#stall()
    }
    const arrives = link.requestOnce(this.#lane, () => {
      if (server.host.down) this.#peer.closed()
      else server.host.receive(() => followers.serve(this.id, this.#peer, pending.request, answer))
    })
    if (!arrives) this.#stall()
  }

  /** The connection is over, on either side. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const { fail } of this.#sent) fail(new OrderedFailure('connection-loss'))
    this.#sent.clear()
    this.#listener?.down()
  }

  /** The network loses a piece of the stream: nothing that comes later gets through. */
  #stall(): void {
    if (this.#isStalled) return
    this.#isStalled = true
    const { process, dice } = this.#ground
    process.timer(dice.between(0, STALLED_MS), () => this.end())
  }

  /** The newest sign of life that a request which leaves now proves, once a quorum agrees to it. */
  #provenBy(nowMs: number): Moment {
    const ripe = this.#signs.findLastIndex(({ answeredMs }) => answeredMs + RIPE_MS <= nowMs)
    this.#signs.splice(0, ripe)
    return (this.#signs[0] as Sign).sent
  }
}
