/** Listens through an instance of `postgres`, which opens a connection of its own for that. */
import { settlesWithin } from '../../../clock/settles-within.js'
import { closeWithin } from './close-within.js'
import type { ListenEvents } from './own-connection.js'
import type { PostgresJs } from './pools.js'

/**
 * How long `close` waits for a connection that is being made, in milliseconds. An instance that
 * ends meanwhile leaves that socket open until its `connect_timeout`, and the process with it.
 */
const CONNECT_LIMIT_MS = 1000

type Listening = Awaited<ReturnType<PostgresJs['listen']>>

export class InstanceListener {
  readonly #sql: PostgresJs
  #listening: Promise<Listening> | undefined

  constructor(sql: PostgresJs) {
    this.#sql = sql
  }

  /** The library opens the connection again after a loss. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    this.#listening = this.#start(channel, events)
    await this.#listening
  }

  async close(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    // On a silent connection the library would wait forever for an answer.
    const closed = listening?.then((started) => closeWithin(started.unlisten()))
    if (closed) await settlesWithin(closed, CONNECT_LIMIT_MS)
  }

  async #start(channel: string, events: ListenEvents): Promise<Listening> {
    await this.#refuseWhenEnded()
    let listens = 0
    const onNotify = (payload: string): void => events.onNotify(payload)
    return this.#sql.listen(channel, onNotify, () => {
      listens += 1
      if (listens > 1) events.onLost(true)
    })
  }

  /**
   * Rejects when the instance has ended. It would listen all the same, on a connection that never
   * ends. It refuses a query within the tick, and any answer may come after its end.
   */
  async #refuseWhenEnded(): Promise<void> {
    const query = Promise.resolve(this.#sql.unsafe('select 1'))
    query.catch(() => undefined) // a server that is away is noticed by the connection that listens
    await Promise.resolve()
    await Promise.race([query, new Promise<void>((resolve) => process.nextTick(resolve))])
  }
}
