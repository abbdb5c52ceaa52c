/**
 * Requests of one client to a service like etcd. Each has an answer, is refused a connection, or
 * has none in time; then its outcome is unknown, and it may still arrive. One that may be done
 * twice is sent again.
 */
import type { Dice } from '@holdfast/workload'
import type { Link } from '../../world/link.js'
import type { Process } from '../../world/process.js'
import type { CoordinationServer } from '../server.js'
import { NoAnswer, unavailable } from '../unavailable.js'

export interface RequestOptions {
  readonly server: CoordinationServer
  readonly process: Process
  readonly link: Link
  readonly dice: Dice
  readonly requestTimeoutMs: number
}

/** How long to pause before another try, at first and in the end, in milliseconds. */
const PAUSE_MS = [25, 200] as const
/** All tries together have the time of this many. */
const TRIES = 2

export class Requests {
  /** The number of requests in doubt since the beginning. */
  inDoubt = 0
  readonly #given: RequestOptions
  /** Ends the requests in flight, whose connection breaks. */
  readonly #inFlight = new Set<() => void>()
  #isClosed = false

  constructor(given: RequestOptions) {
    this.#given = given
  }

  /** @param repeatable whether it may be done twice */
  async ask<T>(handle: () => T, repeatable = true): Promise<T> {
    const { process, requestTimeoutMs } = this.#given
    const endMs = process.monotonicMs() + TRIES * requestTimeoutMs
    for (let pauseMs: number = PAUSE_MS[0]; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS[1])) {
      try {
        return await this.#try(handle)
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        this.inDoubt += 1
        const isOver = process.monotonicMs() + pauseMs > endMs
        if (!repeatable || isOver || this.#isClosed) throw unavailable('etcd-queue', error.message)
      }
      await new Promise<void>((resolve) => void process.timer(pauseMs, resolve))
    }
  }

  /** The connection breaks. Whether requests in flight have arrived stays unknown. */
  reset(): void {
    for (const end of [...this.#inFlight]) end()
  }

  close(): void {
    this.#isClosed = true
  }

  #try<T>(handle: () => T): Promise<T> {
    const { server, process, link, requestTimeoutMs } = this.#given
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        timer.cancel()
        if (this.#inFlight.delete(broken)) settle()
      }
      const fail = (why: string): void => end(() => reject(new NoAnswer(why)))
      const broken = (): void => process.receive(() => fail('the connection broke'))
      const timer = process.timer(requestTimeoutMs, () => fail('it took too long'))
      this.#inFlight.add(broken)
      const lane = link.lane()
      const answer = (settle: () => void): void =>
        void link.reply(lane, () => process.receive(settle))
      link.requestOnce(lane, () => {
        if (server.host.down) answer(() => fail('the connection was refused'))
        else {
          server.host.receive(() => {
            const value = handle()
            answer(() => end(() => resolve(value)))
          })
        }
      })
    })
  }
}
