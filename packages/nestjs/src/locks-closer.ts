/** Closes the locks of a module at the end of the application. */
import { Logger, type OnApplicationShutdown } from '@nestjs/common'
import { onLockEvent, type Locks } from 'holdfast'

export class LocksCloser implements OnApplicationShutdown {
  readonly #locks: Locks
  readonly #graceMs: number | undefined

  constructor(locks: Locks, graceMs: number | undefined) {
    this.#locks = locks
    this.#graceMs = graceMs
  }

  /** By now the servers of the application have ended their requests, and no new ones come. */
  async onApplicationShutdown(): Promise<void> {
    let failure: unknown
    const stopListening = onLockEvent('error', ({ clientId, error }) => {
      if (clientId === this.#locks.clientId) failure = error
    })
    try {
      await this.#locks.close({ graceMs: this.#graceMs })
    } finally {
      stopListening()
    }
    if (failure !== undefined) this.#warn(failure)
  }

  #warn(failure: unknown): void {
    new Logger('HoldfastModule').warn(
      'Not all locks could be released at the shutdown, so they stay taken until their leases end. ' +
        'If a module of yours closes the client of the store, make it global and import it before HoldfastModule: ' +
        `Nest then closes it later. The failure: ${failure instanceof Error ? failure.message : String(failure)}`,
    )
  }
}
