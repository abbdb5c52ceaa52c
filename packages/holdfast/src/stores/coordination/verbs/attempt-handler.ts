/**
 * Attempts: of a claim that comes for the first time, of one that stands in the queue, and of one
 * that was withdrawn.
 */
import type { AttemptOptions, AttemptResult, Claim } from '../../../store/contract.js'
import { AttemptOrder } from '../../../store/attempt-order.js'
import type { StoreContext } from '../queue/context.js'
import { QueueEntrance } from '../queue/queue-entrance.js'
import type { ServiceSession } from '../connection/service.js'
import { withdrawn, type QueueWaiter } from '../queue/queue-waiter.js'

export class AttemptHandler<S extends ServiceSession> {
  readonly #context: StoreContext<S>
  readonly #entering: QueueEntrance<S>
  readonly #waiting: QueueWaiter<S>
  readonly #order: AttemptOrder

  constructor(context: StoreContext<S>, waiting: QueueWaiter<S>) {
    this.#context = context
    this.#order = new AttemptOrder(context.service.keepsOrder)
    this.#entering = new QueueEntrance(context, waiting)
    this.#waiting = waiting
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const { records } = this.#context
    const known = records.get(claim)
    if (known?.withdrawn) return withdrawn(known)
    if (known?.queueEntry) return this.#waiting.again(known, known.queueEntry, claim, options)
    if (known?.entering) {
      await known.entering.catch(() => undefined)
      return this.attempt(claim, options)
    }
    const record = known ?? records.make(claim, false)
    const entering = this.#order.run(claim, options, () =>
      this.#entering.enter(record, claim, options),
    )
    record.entering = entering
    try {
      return await entering
    } finally {
      record.entering = undefined
      // It was withdrawn meanwhile, and that withdrawal may have been given up: remove it here.
      if (record.withdrawn) void this.#context.removing.remove(record)
    }
  }
}
