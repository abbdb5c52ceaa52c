/**
 * Calls that count only when replicas have what they wrote (WAIT).
 *
 * WAIT speaks of the writes of its own connection, and keeps that connection busy until the
 * replicas have answered or its time is over. So it has a connection of its own, on which the
 * client writes the lease once more. A replica that has this write has everything before it. Calls
 * that come while a WAIT lasts go together in the next round.
 */
import { withTimeout } from '../../../clock/with-timeout.js'
import { StoreUnavailableError } from '../../../errors.js'
import { explain, isServerError, isUnknownScript, STORE_NAME } from '../errors.js'
import { textOf } from '../wire/answers.js'
import type { Script } from '../rule/scripts.generated.js'
import type { OwnConnection, ScriptForm, Transport } from './transports/transport.js'

export interface ReplicaSettings {
  /** How many replicas must have acknowledged a lease before it is believed in. 0 for none. */
  readonly minReplicas: number
  /** How long they may take, in milliseconds. */
  readonly replicaTimeoutMs: number
}

interface Answers {
  readonly replies: readonly Settled[]
  readonly replicas: number
}

interface PendingCall {
  readonly command: readonly [string, ...string[]]
  resolve(reply: unknown): void
  reject(error: unknown): void
}

export class ReplicatedCalls {
  readonly #transport: Transport
  readonly #settings: ReplicaSettings
  readonly #roundLimitMs: number
  #waiting: PendingCall[] = []
  #connection: OwnConnection | undefined
  #busy = false
  #closed = false

  /** @param requestTimeoutMs how long the server may take, beside the time of the replicas */
  constructor(transport: Transport, settings: ReplicaSettings, requestTimeoutMs: number) {
    this.#transport = transport
    this.#settings = settings
    this.#roundLimitMs = requestTimeoutMs + settings.replicaTimeoutMs
  }

  /**
   * Like `Transport.run`. Rejects with `NOT_REPLICATED` when too few replicas have what it wrote.
   */
  run(
    by: ScriptForm,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const complete = keys.map((key) => this.#transport.keyPrefix + key)
    const text = by === 'hash' ? script.sha : script.source
    const name = by === 'hash' ? 'EVALSHA' : 'EVAL'
    return new Promise((resolve, reject) => {
      const command = [name, text, String(keys.length), ...complete, ...args] as const
      this.#waiting.push({ command, resolve, reject })
      if (!this.#busy) void this.#rounds()
    })
  }

  close(): void {
    this.#closed = true
    this.drop()
  }

  async #rounds(): Promise<void> {
    this.#busy = true
    // The other calls of this tick go along.
    await Promise.resolve()
    while (this.#waiting.length > 0 && !this.#closed) {
      const round = this.#waiting
      this.#waiting = []
      await this.#round(round)
    }
    this.#busy = false
  }

  async #round(round: readonly PendingCall[]): Promise<void> {
    try {
      const { replies, replicas } = await this.#within(this.#answersTo(round))
      for (const [index, call] of round.entries()) {
        const reply = replies[index] as Settled
        if (reply.status === 'rejected') call.reject(reply.reason)
        else if (replicas < this.#settings.minReplicas) call.reject(this.#tooFew(replicas))
        else call.resolve(reply.value)
      }
      // Such as READONLY after a failover. A script that is not known is sent again over the same
      // connection.
      if (replies.some((reply) => reply.status === 'rejected' && !isUnknownScript(reply.reason)))
        this.drop()
    } catch (error) {
      // Nothing is known any more of the calls in flight on this connection.
      this.drop()
      for (const call of round) call.reject(error)
    }
  }

  /**
   * A connection that has served before may have ended while it was idle, such as by the
   * server's `timeout`: the next call finds that out. So it is made again once. Renewals may
   * be repeated, and grant nothing.
   */
  async #answersTo(round: readonly PendingCall[]): Promise<Answers> {
    const before = this.#connection
    if (before) {
      try {
        return await this.#ask(before, round)
      } catch (error) {
        // Where it was dropped meanwhile, each caller has its error, and may have withdrawn.
        if (isServerError(error) || this.#connection !== before) throw error
        this.drop()
      }
    }
    const connection = this.#transport.connect()
    this.#connection = connection
    return this.#ask(connection, round)
  }

  async #ask(connection: OwnConnection, round: readonly PendingCall[]): Promise<Answers> {
    const { minReplicas, replicaTimeoutMs } = this.#settings
    const before = connection.mayChange ? connection.call('CLIENT', 'INFO') : undefined
    const calls = round.map(({ command: [name, ...args] }) => connection.call(name, ...args))
    const wait = connection.call('WAIT', String(minReplicas), String(replicaTimeoutMs))
    const after = connection.mayChange ? connection.call('CLIENT', 'INFO') : undefined
    const [replies, counted, first, last] = await Promise.all([
      Promise.allSettled(calls),
      settled(wait),
      settled(before),
      settled(after),
    ])
    // On another connection than that of the writes WAIT would count all replicas at once.
    if (identityOf(first) !== identityOf(last))
      throw new Error('The connection was replaced under the call')
    return { replies, replicas: Number(textOf(valueOf(counted))) }
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const limitMs = this.#roundLimitMs
    return withTimeout(work, limitMs, () =>
      explain(new Error(`No answer within ${Math.round(limitMs)} ms`)),
    )
  }

  #tooFew(replicas: number): StoreUnavailableError {
    const { minReplicas, replicaTimeoutMs } = this.#settings
    return new StoreUnavailableError(
      `Redis: only ${replicas} of the ${minReplicas} replicas that minReplicas asks for have acknowledged the lease ` +
        `within ${replicaTimeoutMs} ms, so it does not count. Look at the replicas, or ask for fewer.`,
      { code: 'NOT_REPLICATED', store: STORE_NAME },
    )
  }

  /** Closes the connection. The next round makes another one. */
  drop(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}

type Settled = PromiseSettledResult<unknown>

/** Awaited together with others: what fails must not leave them behind. */
async function settled(promise: Promise<unknown> | undefined): Promise<Settled> {
  const [result] = await Promise.allSettled([promise])
  return result
}

function valueOf(result: Settled): unknown {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

/** Returns what distinguishes a connection from all others: its number, and both of its ends. */
function identityOf(info: Settled): string {
  const value = valueOf(info)
  if (value === undefined) return ''
  return textOf(value)
    .split(' ')
    .filter((field) => /^(?:id|addr|laddr)=/.test(field))
    .join(' ')
}
