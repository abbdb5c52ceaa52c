/** What the verbs of a sequenced store share. */
import type { Clock } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import { EntryReader } from './entry-reader.js'
import type { PortSession, SequencedPort } from './port.js'
import { LocalHandOffs } from './local-hand-offs.js'
import { Records } from './claim-record.js'
import { EntryRemover } from './entry-remover.js'
import { Sessions } from './session.js'

export class StoreContext<S extends PortSession> {
  readonly name: string
  readonly port: SequencedPort<S>
  readonly clock: Clock
  readonly records = new Records<S>()
  readonly localHandOffs = new LocalHandOffs()
  readonly sessions: Sessions<S>
  readonly reader: EntryReader
  readonly removing: EntryRemover<S>
  closed = false

  constructor(name: string, port: SequencedPort<S>, clock: Clock) {
    this.name = name
    this.port = port
    this.clock = clock
    this.reader = new EntryReader(port)
    this.removing = new EntryRemover(this)
    this.sessions = new Sessions(port, clock, () => this.removing.sweep())
  }

  assertOpen(lock: string): void {
    if (!this.closed) return
    throw new LockUsageError(`The ${this.name} store was closed before "${lock}" was asked for.`, {
      code: 'LOCKS_CLOSED',
      lock,
      store: this.name,
    })
  }
}
