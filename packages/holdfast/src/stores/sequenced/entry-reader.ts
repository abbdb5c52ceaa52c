/** Reads entries for the verbs of a sequenced store. */
import { TickQueue } from '../../collections/tick-queue.js'
import type { EntryReading, EntryQuery, SequencedPort, Waits } from './port.js'

interface PendingRead {
  readonly at: EntryQuery
  readonly resolve: (reading: EntryReading | Waits) => void
  readonly reject: (error: unknown) => void
}

export class EntryReader {
  readonly #port: Pick<SequencedPort, 'readEntries'>
  readonly #queue = new TickQueue<PendingRead>((reads) => void this.#readAll(reads), queueMicrotask)

  constructor(port: Pick<SequencedPort, 'readEntries'>) {
    this.#port = port
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
      const readings = await this.#port.readEntries(reads.map(({ at }) => at))
      for (const [index, { resolve }] of reads.entries())
        resolve(readings[index] ?? { state: 'absent' })
    } catch (error) {
      for (const { reject } of reads) reject(error)
    }
  }
}
