/**
 * A member of the Cluster, with a connection of the store's own that is opened when it is needed
 * first.
 */
import type { Clock } from '../../../../clock/clock.js'
import type { LockError } from '../../../../errors.js'
import {
  afterSuccess,
  explain,
  isRefusedLogin,
  isServerError,
  isUnknownScript,
} from '../../errors.js'
import { ResilientCaller } from '../resilient-caller.js'
import { ReplicatedCalls, type ReplicaSettings } from '../replicas.js'
import type {
  Address,
  ClusterTransport,
  MemberConnection,
  ScriptForm,
  Transport,
} from '../transports/transport.js'
import { nameOf } from './topology.js'

/** How long a call waits for a broken connection before it looks for another owner. */
const ABSENCE_MS = 300

/** The ways to a member. */
export interface Ways {
  readonly transport: Transport
  readonly replicated: ReplicatedCalls
}

export type Send = (ways: Ways, by: ScriptForm) => Promise<unknown>

export interface MemberSettings {
  readonly clock: Clock
  readonly requestTimeoutMs: number
  readonly replicas: ReplicaSettings
  /** Called at each end of a connection, and for each call that had no answer. */
  readonly onLost: () => void
  /** Called when a connection is there, or is there again. */
  readonly onReady?: () => void
  /** Whether any member has answered. */
  readonly hasAnswered?: () => boolean
}

/** Why a member did not do what it was asked: what it answered, or that it did not. */
export class Refusal {
  /** The first word of the answer, such as MOVED. Empty where there was none. */
  readonly word: string
  readonly error: Error

  constructor(error: Error, word = '') {
    this.error = error
    this.word = word
  }
}

interface Opened extends Ways {
  readonly connection: MemberConnection
  readonly caller: ResilientCaller
}

export class Member {
  readonly name: string
  readonly address: Address
  readonly #cluster: ClusterTransport
  readonly #settings: MemberSettings
  #opened: Opened | undefined
  #opening: Promise<Opened> | undefined
  #retired: LockError | undefined

  constructor(cluster: ClusterTransport, address: Address, settings: MemberSettings) {
    this.name = nameOf(address)
    this.address = address
    this.#cluster = cluster
    this.#settings = settings
  }

  get isReady(): boolean {
    return this.#opened?.connection.transport.isReady === true
  }

  /** Whether it was given up for good. Should it own slots again, another one stands for it. */
  get isRetired(): boolean {
    return this.#retired !== undefined
  }

  /**
   * Gives the reply, or a refusal. Rejects when the client's settings are wrong, such as its
   * password before any member has answered.
   */
  async call(send: Send): Promise<unknown> {
    try {
      return await this.#call(this.#opened ?? (await this.#open()), send)
    } catch (error) {
      const explained = this.#explain(error)
      if (explained.code !== 'STORE_UNAVAILABLE') throw explained
      this.#settings.onLost()
      return new Refusal(explained)
    }
  }

  /** The connection to this member may be made only after the password has changed. */
  #explain(error: unknown): LockError {
    const explained = explain(error)
    return this.#settings.hasAnswered?.() === true ? afterSuccess(explained) : explained
  }

  async connection(): Promise<MemberConnection> {
    return (this.#opened ?? (await this.#open())).connection
  }

  /** Closes its connection. Calls in flight reject with the error. */
  retire(error: LockError): void {
    this.#retired = error
    this.#opened?.caller.close(error)
    this.#opened?.replicated.close()
    this.#opened?.connection.close()
  }

  #call(opened: Opened, send: Send): Promise<unknown> {
    return opened.caller.call((by) =>
      send(opened, by).catch((error: unknown) => {
        if (isUnknownScript(error) || isRefusedLogin(error) || !isServerError(error)) throw error
        return new Refusal(error as Error, (error as Error).message.split(' ', 1)[0])
      }),
    )
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#cluster
      .open(this.#cluster.mapAddress(this.address))
      .then((connection) => {
        const { transport } = connection
        const { requestTimeoutMs, replicas, clock, onLost, onReady } = this.#settings
        const caller = new ResilientCaller(transport, requestTimeoutMs, {
          clock,
          absenceMs: ABSENCE_MS,
          onLost,
        })
        const replicated = new ReplicatedCalls(transport, replicas, requestTimeoutMs)
        const opened = { connection, transport, caller, replicated }
        this.#opened = opened
        transport.watchState({ ready: () => onReady?.(), lost: () => undefined })
        if (this.#retired) this.retire(this.#retired)
        return opened
      })
      .finally(() => (this.#opening = undefined))
    return this.#opening
  }
}
