/** What the verbs of a sequenced store share. */
import type { Clock } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import type { Look, LookedAt, PortSession, SequencedPort, Waits } from './port.js'
import { Neighbours } from './neighbours.js'
import { Records } from './record.js'
import { Removing } from './removing.js'
import { Sessions } from './session.js'

interface Asked {
  readonly at: LookedAt
  readonly resolve: (look: Look | Waits) => void
  readonly reject: (error: unknown) => void
}

export class StoreContext<S extends PortSession> {
  readonly name: string
  readonly port: SequencedPort<S>
  readonly clock: Clock
  readonly records = new Records<S>()
  readonly neighbours = new Neighbours()
  readonly sessions: Sessions<S>
  readonly removing: Removing<S>
  closed = false
  #asked: Asked[] = []

  constructor(name: string, port: SequencedPort<S>, clock: Clock) {
    this.name = name
    this.port = port
    this.clock = clock
    this.removing = new Removing(this)
    this.sessions = new Sessions(port, clock, () => this.removing.sweep())
  }

  /** Looks at an entry. All looks of one turn of the event loop travel together: a heartbeat is one request. */
  look(at: LookedAt & { readonly seen: bigint }): Promise<Look | Waits>
  look(at: Omit<LookedAt, 'seen'>): Promise<Look>
  look(at: LookedAt): Promise<Look | Waits> {
    if (this.#asked.length === 0) queueMicrotask(() => void this.#lookAtAll())
    return new Promise<Look | Waits>((resolve, reject) => void this.#asked.push({ at, resolve, reject }))
  }

  assertOpen(lock: string): void {
    if (!this.closed) return
    throw new LockUsageError(`The ${this.name} store was closed before "${lock}" was asked for.`, {
      code: 'LOCKS_CLOSED',
      lock,
      store: this.name,
    })
  }

  async #lookAtAll(): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    try {
      const looks = await this.port.look(asked.map(({ at }) => at))
      for (const [index, { resolve }] of asked.entries()) resolve(looks[index] ?? { state: 'absent' })
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}
