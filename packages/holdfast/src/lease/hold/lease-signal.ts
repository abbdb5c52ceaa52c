/** The AbortSignal of a lease, made when it is first read: a controller costs microseconds. */
import { bindContext } from '../../async/async-context.js'

export class LeaseSignal {
  readonly #controller = new AbortController()
  /** Aborts in the context of the first reader, to which most listeners belong. */
  readonly abort: (reason: unknown) => void

  /** @param reason why the signal is aborted from the start; undefined when it is not */
  constructor(reason: unknown) {
    const controller = this.#controller
    this.abort = bindContext((why: unknown) => controller.abort(why))
    if (reason !== undefined) controller.abort(reason)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }
}
