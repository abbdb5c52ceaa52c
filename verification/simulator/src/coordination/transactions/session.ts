/** A session of a service like etcd, and the clocks that tell how long it was silent. */
import { elapsedMs, momentOf, type Moment, type ServiceSession } from 'holdfast/internal'
import type { Process } from '../../world/process.js'
import type { Requests } from './requests.js'
import type { CoordinationServer } from '../server.js'

export class TransactionSession implements ServiceSession {
  readonly id: bigint
  readonly timeoutMs: number
  readonly #server: CoordinationServer
  readonly #requests: Requests
  readonly #process: Process
  #heardAt: Moment

  /** @param openedAt when the request that opened it left */
  constructor(
    { id, timeoutMs }: { readonly id: bigint; readonly timeoutMs: number },
    openedAt: Moment,
    server: CoordinationServer,
    requests: Requests,
    process: Process,
  ) {
    this.id = id
    this.timeoutMs = timeoutMs
    this.#server = server
    this.#requests = requests
    this.#process = process
    this.#heardAt = openedAt
  }

  /**
   * A session that was silent for its timeout is over, also where the server knows it. It is ended
   * where no lease can count on it. After a step of the wall clock one can.
   */
  async keepAlive(now: Moment): Promise<Moment | undefined> {
    const { id, timeoutMs } = this
    if (!(await this.#requests.ask(() => this.#server.sessions.hear(id)))) return undefined
    const answeredAt = momentOf(this.#process)
    if (elapsedMs(this.#heardAt, answeredAt) <= timeoutMs) {
      if (now.monotonicMs > this.#heardAt.monotonicMs) this.#heardAt = now
      return now
    }
    const silentMs = answeredAt.monotonicMs - this.#heardAt.monotonicMs
    if (silentMs > timeoutMs) await this.end().catch(() => undefined)
    return undefined
  }

  async end(): Promise<void> {
    const { id } = this
    await this.#requests.ask(() => this.#server.sessions.end(id))
  }
}
