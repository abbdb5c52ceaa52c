/**
 * The servers of a service like ZooKeeper, as the sessions of clients see them. Each session is
 * with one server, which may be behind the leader. Its reads are old then, and its events late. It
 * answers writes when it has caught up.
 *
 * The requests of a session are handled in their order. A session sees all that was written before
 * its own last write, and never an older state than before.
 */
import type { Agenda } from '../../world/agenda.js'
import type { Dice } from '@holdfast/workload'
import { OrderedFailure } from './failure.js'
import { changesBetween, type Queue } from '../queues.js'
import type { CoordinationServer } from '../server.js'

/** The client's end of a connection. */
export interface OrderedPeer {
  /** How far its server is behind the leader at most, in milliseconds. */
  lagMs(): number
  /** A node that it watches has changed or gone. */
  event(key: string): void
  closed(): void
}

/** The locks as one session sees them at a moment. */
export interface View {
  of(lock: string): Queue
}

export interface OrderedRequest<T> {
  /** A write reaches the leader, and so does the question whether a quorum agrees. */
  readonly kind: 'read' | 'write'
  /** Throws an `OrderedFailure` where the service refuses. */
  handle(view: View): T
  /** Watches a key from this read on. */
  readonly watches?: { readonly lock: string; readonly key: string }
}

/** Returns the value of an answer, or throws its failure. */
export type Settled<T> = () => T

interface Attachment {
  readonly id: bigint
  readonly peer: OrderedPeer
  /** When its last answer leaves: the next one is not faster. */
  answersMs: number
  readonly watched: Set<string>
}

/** The leader hears of signs of life within this time, in milliseconds. */
export const HANDED_OVER_MS = 250

export class Followers {
  readonly #server: CoordinationServer
  readonly #agenda: Agenda
  readonly #dice: Dice
  /** The connection that each session has now. */
  readonly #attached = new Map<bigint, Attachment>()
  /** Nothing older is shown to a session. */
  readonly #seenMs = new Map<bigint, number>()

  constructor(server: CoordinationServer, agenda: Agenda, dice: Dice) {
    this.#server = server
    this.#agenda = agenda
    this.#dice = dice
    server.crashListeners.add(() => {
      const peers = [...this.#attached.values()].map(({ peer }) => peer)
      this.#attached.clear()
      for (const peer of peers) peer.closed()
    })
    server.listeners.add((_lock, changes) => {
      for (const attachment of this.#attached.values())
        for (const { key } of changes) this.#event(attachment, key)
    })
  }

  /**
   * Attaches a session to a connection: a new one, or one that had another connection. Nothing that
   * was sent over that one is taken any more. Returns undefined when the session is gone.
   */
  attach(known: bigint | undefined, timeoutMs: number, peer: OrderedPeer): bigint | undefined {
    const { sessions } = this.#server
    const id = known ?? sessions.open(timeoutMs).id
    if (!sessions.hear(id)) return undefined
    const answersMs = this.#agenda.nowMs
    this.#attached.set(id, { id, peer, answersMs, watched: new Set() })
    return id
  }

  /** Handles a request of a session, and answers when its server has. */
  serve<T>(
    id: bigint,
    peer: OrderedPeer,
    request: OrderedRequest<T>,
    answer: (settled: Settled<T>) => void,
  ): void {
    const attachment = this.#attached.get(id)
    if (attachment?.peer !== peer) {
      peer.closed()
      return
    }
    if (!this.#server.sessions.get(id)) {
      answer(() => {
        throw new OrderedFailure('session-expired')
      })
      return
    }
    this.#handOver(attachment)
    const lagMs = this.#dice.between(0, 1) * peer.lagMs()
    if (request.kind === 'write') {
      const settled = settle(() => request.handle(this.#server.queues))
      const { nowMs } = this.#agenda
      this.#answer(attachment, nowMs + lagMs, () => {
        this.#see(id, nowMs)
        answer(settled)
      })
    } else {
      // Behind the writes of the session that stand before it.
      this.#answer(attachment, this.#agenda.nowMs, () => {
        this.#see(id, this.#agenda.nowMs - lagMs)
        answer(settle(() => this.#read(attachment, request)))
      })
    }
  }

  #answer(attachment: Attachment, atMs: number, act: () => void): void {
    attachment.answersMs = Math.max(attachment.answersMs, atMs)
    this.#agenda.at(attachment.answersMs, () =>
      this.#server.host.receive(() => {
        if (this.#attached.get(attachment.id) === attachment) act()
      }),
    )
  }

  #see(id: bigint, atMs: number): number {
    const seenMs = Math.max(atMs, this.#seenMs.get(id) ?? 0)
    this.#seenMs.set(id, seenMs)
    return seenMs
  }

  #read<T>(attachment: Attachment, request: OrderedRequest<T>): T {
    const seenMs = this.#see(attachment.id, 0)
    const { queues } = this.#server
    const value = request.handle({ of: (lock) => queues.of(lock, seenMs) })
    if (!request.watches) return value
    const { lock, key } = request.watches
    attachment.watched.add(key)
    const [shown, now] = [queues.of(lock, seenMs), queues.of(lock)]
    const isBehind = changesBetween(shown.entries, now.entries).some((one) => one.key === key)
    if (isBehind) this.#event(attachment, key)
    return value
  }

  #event(attachment: Attachment, key: string): void {
    if (!attachment.watched.delete(key)) return
    const lagMs = this.#dice.between(0, 1) * attachment.peer.lagMs()
    this.#agenda.after(lagMs, () => attachment.peer.event(key))
  }

  /** The leader hears of a sign of life a moment later, unless the connection is replaced. */
  #handOver(attachment: Attachment): void {
    const { id } = attachment
    this.#agenda.after(this.#dice.between(0, HANDED_OVER_MS), () => {
      if (this.#attached.get(id) === attachment)
        this.#server.host.receive(() => void this.#server.sessions.hear(id))
    })
  }
}

/** Runs a step now, for an answer that leaves later. */
function settle<T>(step: () => T): Settled<T> {
  try {
    const value = step()
    return () => value
  } catch (error) {
    if (!(error instanceof OrderedFailure)) throw error
    return () => {
      throw error
    }
  }
}
