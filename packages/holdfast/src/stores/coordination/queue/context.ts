/** What the verbs of a store on a coordination service share. */
import type { Clock } from '../../../clock/clock.js'
import { storeClosed } from '../../../store/errors.js'
import { ReadBatches } from './read-batches.js'
import type { ServiceSession, CoordinationService } from '../connection/service.js'
import { LocalHandOffs } from './local-hand-offs.js'
import { ClaimRecords } from './claim-records.js'
import { EntryRemover } from './entry-remover.js'
import { Sessions } from '../session.js'

export class StoreContext<S extends ServiceSession> {
  readonly name: string
  readonly service: CoordinationService<S>
  readonly clock: Clock
  readonly records = new ClaimRecords<S>()
  readonly localHandOffs = new LocalHandOffs()
  readonly sessions: Sessions<S>
  readonly reader: ReadBatches
  readonly removing: EntryRemover<S>
  closed = false

  constructor(name: string, service: CoordinationService<S>, clock: Clock) {
    this.name = name
    this.service = service
    this.clock = clock
    this.reader = new ReadBatches(service)
    this.removing = new EntryRemover(this)
    this.sessions = new Sessions(service, clock, () => this.removing.sweep())
  }

  assertOpen(): void {
    if (this.closed) throw storeClosed(this.name)
  }
}
