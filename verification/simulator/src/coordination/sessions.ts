/** The sessions of a coordination service. Its clock ends those that are silent. */
import type { Host } from '../server/host.js'
import type { Agenda, Appointment } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'

export interface ServerSession {
  readonly id: bigint
  readonly timeoutMs: number
  /** When it is over by the clock of the server, unless the server hears of it. */
  dueMs: number
  /** When the server ends it: some time after that. */
  endMs: number
  /** The locks in which it has entries, or had. */
  readonly locks: Set<string>
  check: Appointment | undefined
}

/** How a service treats sessions that are due. */
export interface ExpiryRule {
  /** How much later than due a session ends, in milliseconds. */
  lateMs(dueMs: number): number
  /** Whether a sign of life that comes after that, and before the end, still counts. */
  readonly revives: boolean
}

export interface SessionEvents {
  /** The server has heard of it. */
  heard(session: ServerSession): void
  /** It is over. */
  ended(session: ServerSession): void
}

export class ServerSessions {
  readonly #agenda: Agenda
  readonly #clock: MachineClock
  readonly #rule: ExpiryRule
  readonly #events: SessionEvents
  readonly #sessions = new Map<bigint, ServerSession>()
  #ids = 0n
  /** Set once the service has its machine. */
  host: Host | undefined

  constructor(agenda: Agenda, clock: MachineClock, rule: ExpiryRule, events: SessionEvents) {
    this.#agenda = agenda
    this.#clock = clock
    this.#rule = rule
    this.#events = events
  }

  open(timeoutMs: number): ServerSession {
    this.#ids += 1n
    const session = {
      id: this.#ids,
      timeoutMs,
      dueMs: 0,
      endMs: 0,
      locks: new Set<string>(),
      check: undefined,
    }
    this.#sessions.set(session.id, session)
    this.#prolong(session)
    return session
  }

  /** A session that is there, and not due unless those revive. */
  get(id: bigint): ServerSession | undefined {
    const session = this.#sessions.get(id)
    if (!session || this.#rule.revives) return session
    return session.dueMs > this.#clock.monotonicMs() ? session : undefined
  }

  /** How long a session lasts from now on, in milliseconds; 0 when it is over. */
  leftMs(id: bigint): number {
    const endMs = this.#sessions.get(id)?.endMs ?? -Infinity
    return Math.max(0, endMs - this.#clock.monotonicMs())
  }

  /** Returns whether the session is there. From now on it lasts for its timeout. */
  hear(id: bigint): boolean {
    const session = this.get(id)
    if (!session) return false
    this.#prolong(session)
    this.#events.heard(session)
    return true
  }

  end(id: bigint): void {
    const session = this.#sessions.get(id)
    if (!session) return
    session.check?.cancel()
    this.#sessions.delete(id)
    this.#events.ended(session)
  }

  /** The server has started again with its data: it gives each session its whole timeout. */
  restart(): void {
    for (const session of this.#sessions.values()) {
      this.#prolong(session)
      this.#events.heard(session)
    }
  }

  /** The data of the server is gone. */
  forgetAll(): void {
    for (const session of this.#sessions.values()) session.check?.cancel()
    this.#sessions.clear()
  }

  #prolong(session: ServerSession): void {
    session.check?.cancel()
    session.dueMs = this.#clock.monotonicMs() + session.timeoutMs
    session.endMs = session.dueMs + this.#rule.lateMs(session.dueMs)
    session.check = this.#agenda.at(this.#clock.trueMs(session.endMs), () => {
      // A stopped server ends it when it runs again, and one that is down starts it again.
      this.host?.receive(() => {
        if (this.leftMs(session.id) < ROUNDING_MS) this.end(session.id)
      })
    })
  }
}

/** What is lost when a time is converted from one clock to another. */
const ROUNDING_MS = 1e-3
