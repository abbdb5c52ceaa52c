/**
 * Linearizable reads: a quorum confirms, after the read has left, that the leader which serves it
 * still leads.
 *
 * A keep-alive has no such proof. A leader whose disk stalls answers keep-alives from memory while
 * the others elect another, which never hears of them. A follower whose disk stalls passes
 * keep-alives on to that leader. Neither can answer a read. So a session is kept alive through a
 * member that has just answered a read. That member knows the leader of the read's term, or of a
 * later one. Any leader that is elected after the read gives each lease its whole TTL again. So the
 * lease lives for its TTL, counted from the moment at which the read left.
 *
 * This holds also when the member passes the keep-alive to a leader that was deposed meanwhile:
 * - The term in an answer is that of the last entry that the member has applied (etcd's `setTerm`).
 *   A leader serves reads only after an entry of its own term, and a member answers one after it
 *   has applied as much. So an answer of the term T or later comes from a member that knows a
 *   leader of T or later. etcd notes a leader before it applies the leader's entries.
 * - A quorum still followed the leader of T after the read had left. So a leader of a later term
 *   was elected after that moment, and its `Promote` counts from its election.
 * - What the deposed leader's answer says is then true of the new one without it.
 *
 * Leases above five minutes are an exception where etcd's lease checkpoints are on, an experiment:
 * a new leader continues from the last checkpoint.
 */
import type { Connection } from './connection.js'
import { METHODS, op, readTxn, txn, type TxnAnswer } from '../wire/messages.js'

/** A member that has answered a read. */
export interface Confirmed {
  /** The number of its endpoint. */
  readonly endpoint: number
  /** Its raft term, for endpoints that spread requests over several members. */
  readonly term: bigint
}

interface Waiter {
  readonly resolve: (confirmed: Confirmed) => void
  readonly reject: (error: unknown) => void
}

export class QuorumReads {
  readonly connection: Connection
  /**
   * Reads one key, which does not exist. A transaction without any operation is answered without a
   * quorum.
   */
  readonly #smallestRead: Buffer
  #waiters: Waiter[] = []

  constructor(connection: Connection) {
    this.connection = connection
    const then = [op.range(connection.keys.root, { keysOnly: true })]
    this.#smallestRead = txn({ when: [], then })
  }

  /** Runs a transaction that only reads. */
  async read(body: Buffer): Promise<TxnAnswer> {
    const waiters = this.#waiters
    this.#waiters = []
    try {
      const { body: answer, endpoint } = await this.connection.ask(METHODS.txn, body, {
        repeatable: true,
      })
      const found = readTxn(answer)
      for (const { resolve } of waiters) resolve({ endpoint, term: found.term })
      return found
    } catch (error) {
      for (const { reject } of waiters) reject(error)
      throw error
    }
  }

  /**
   * Resolves to the member that answers the next read. One is sent if no other caller reads in
   * this tick.
   */
  confirmedMember(): Promise<Confirmed> {
    return new Promise((resolve, reject) => {
      if (this.#waiters.length === 0) setImmediate(() => void this.#readForWaiters())
      this.#waiters.push({ resolve, reject })
    })
  }

  async #readForWaiters(): Promise<void> {
    // The waiters hear of a failure.
    if (this.#waiters.length > 0) await this.read(this.#smallestRead).catch(() => undefined)
  }
}
