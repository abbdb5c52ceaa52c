/** A member of the Cluster, with a connection of the store's own that is opened when it is needed first. */
import type { LockError } from '../../../errors.js'
import { explain, isServerError, isUnknownScript } from '../errors.js'
import { Link } from '../link.js'
import type { Address, ClusterTransport, MemberConnection, Transport } from '../transports/transport.js'
import { nameOf } from './topology.js'

/** So long a broken connection is waited for before the call looks for another owner. */
const ABSENCE_MS = 300

export type Send = (transport: Transport, bySource: boolean) => Promise<unknown>

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

interface Opened {
  readonly connection: MemberConnection
  readonly link: Link
}

export class Member {
  readonly name: string
  readonly address: Address
  readonly #cluster: ClusterTransport
  readonly #timeoutMs: number
  #opened: Opened | undefined
  #opening: Promise<Opened> | undefined
  #retired: LockError | undefined

  constructor(cluster: ClusterTransport, address: Address, timeoutMs: number) {
    this.name = nameOf(address)
    this.address = address
    this.#cluster = cluster
    this.#timeoutMs = timeoutMs
  }

  get isReady(): boolean {
    return this.#opened?.connection.transport.isReady === true
  }

  /** Gives the reply, or a refusal. Rejects when the client's settings are wrong, such as its password. */
  async call(send: Send): Promise<unknown> {
    try {
      return await this.#call(this.#opened ?? (await this.#open()), send)
    } catch (error) {
      const explained = explain(error)
      if (explained.code !== 'STORE_UNAVAILABLE') throw explained
      return new Refusal(explained)
    }
  }

  async connection(): Promise<MemberConnection> {
    return (this.#opened ?? (await this.#open())).connection
  }

  /** Closes its connection. Calls under way are told the error. */
  retire(error: LockError): void {
    this.#retired = error
    this.#opened?.link.close(error)
    this.#opened?.connection.close()
  }

  #call({ connection: { transport }, link }: Opened, send: Send): Promise<unknown> {
    return link.call((bySource) =>
      send(transport, bySource).catch((error: unknown) => {
        if (isUnknownScript(error) || !isServerError(error)) throw error
        return new Refusal(error as Error, (error as Error).message.split(' ', 1)[0])
      }),
    )
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#cluster
      .open(this.#cluster.mapAddress(this.address))
      .then((connection) => {
        const opened = {
          connection,
          link: new Link(connection.transport, this.#timeoutMs, { absenceMs: ABSENCE_MS }),
        }
        this.#opened = opened
        if (this.#retired) this.retire(this.#retired)
        return opened
      })
      .finally(() => (this.#opening = undefined))
    return this.#opening
  }
}
