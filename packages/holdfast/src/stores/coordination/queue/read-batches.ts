/** Sends the reads of entries of one tick together. */
import { TickQueue } from '../../../collections/tick-queue.js'
import type { EntryReading, EntryQuery, CoordinationService, Waits } from '../connection/service.js'

interface PendingRead {
  readonly at: EntryQuery
  readonly resolve: (reading: EntryReading | Waits) => void
  readonly reject: (error: unknown) => void
}

export class ReadBatches {
  readonly #service: Pick<CoordinationService, 'readEntries'>
  readonly #queue = new TickQueue<PendingRead>((reads) => void this.#readAll(reads), queueMicrotask)

  constructor(service: Pick<CoordinationService, 'readEntries'>) {
    this.#service = service
  }

  /** Reads an entry. All reads of one tick travel together: a heartbeat is one request. */
  read(at: EntryQuery & { readonly seen: bigint }): Promise<EntryReading | Waits>
  read(at: Omit<EntryQuery, 'seen'>): Promise<EntryReading>
  read(at: EntryQuery): Promise<EntryReading | Waits> {
    return new Promise<EntryReading | Waits>((resolve, reject) =>
      this.#queue.add({ at, resolve, reject }),
    )
  }

  async #readAll(reads: readonly PendingRead[]): Promise<void> {
    try {
      const readings = await this.#service.readEntries(reads.map(({ at }) => at))
      for (const [index, { resolve }] of reads.entries())
        resolve(readings[index] ?? { state: 'absent' })
    } catch (error) {
      for (const { reject } of reads) reject(error)
    }
  }
}
