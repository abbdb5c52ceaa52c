/** Finding a server that takes a session, among those of an ensemble. */
import type { Clock } from '../../../clock/clock.js'
import { pause } from '../../../clock/pause.js'
import { Connection, type Greeting, type Server } from '../connection/connection.js'
import { isUnreachable } from '../../coordination/connection/is-unreachable.js'
import type { Ensemble } from '../options.js'

/** How long one server is given to greet, in milliseconds. */
const GREETING_MS = 1500
/** How long to pause when no server takes the session, at first and in the end, in milliseconds. */
const PAUSE_MS = [50, 500] as const
/** A connection that breaks within this time was of no use, in milliseconds. */
const SHORT_MS = 1000

export interface Found {
  readonly connection: Connection
  readonly server: number
}

/** None was found for as long as one was wanted. */
export interface NoneFound {
  readonly connection: undefined
  /** What the last one failed with. */
  readonly why: Error | undefined
}

/** Whether a search is to go on. `down`: no server takes a connection, so none runs. */
export type Wanted = (down: boolean) => boolean

/** Asks one server after the other, for as long as it is wanted. */
export async function findServer(
  { servers }: Ensemble,
  start: number,
  greeting: Greeting,
  wanted: Wanted,
): Promise<Found | NoneFound> {
  let pauseMs: number = PAUSE_MS[0]
  let why: Error | undefined
  const down = new Set<number>()
  for (let tries = 0; wanted(down.size === servers.length); tries += 1) {
    const index = (start + tries) % servers.length
    const server = servers[index]
    if (!server) break
    try {
      return {
        connection: await Connection.open(server, greeting, GREETING_MS),
        server: index,
      }
    } catch (error) {
      why = failureOf(server, error)
      if (isUnreachable(error)) down.add(index)
      else down.delete(index)
      if ((tries + 1) % servers.length !== 0) continue
    }
    await pause(greeting.clock, pauseMs, greeting.background)
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS[1])
  }
  return { connection: undefined, why }
}

/**
 * Pauses before the next connection when one after the other breaks at once. Otherwise a server or
 * a proxy that greets and hangs up would get thousands.
 */
export class ReconnectBackoff {
  readonly #clock: Clock
  #pauseMs = 0
  #connectedMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  connected(): void {
    this.#connectedMs = this.#clock.monotonicMs()
  }

  async pause(): Promise<void> {
    const [leastMs, mostMs] = PAUSE_MS
    const isShort = this.#clock.monotonicMs() - this.#connectedMs < SHORT_MS
    const pauseMs = isShort ? this.#pauseMs : 0
    this.#pauseMs = Math.min(mostMs, Math.max(leastMs, pauseMs * 2))
    if (pauseMs > 0) await pause(this.#clock, pauseMs, true)
  }
}

function failureOf({ host, port }: Server, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException
  // A host with several addresses fails without a message, and has one for each of them.
  return new Error(`${host}:${port}: ${message || (code ?? 'no connection')}`, { cause })
}
