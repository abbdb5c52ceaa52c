/** Reads entries for the verbs of a sequenced store. */
import { TickQueue } from '../../collections/tick-queue.js'
import type { Look, LookedAt, SequencedPort, Waits } from './port.js'

interface Asked {
  readonly at: LookedAt
  readonly resolve: (look: Look | Waits) => void
  readonly reject: (error: unknown) => void
}

export class EntryReader {
  readonly #port: Pick<SequencedPort, 'look'>
  readonly #queue = new TickQueue<Asked>((asked) => void this.#lookAtAll(asked), queueMicrotask)

  constructor(port: Pick<SequencedPort, 'look'>) {
    this.#port = port
  }

  /** Looks at an entry. All looks of one tick travel together: a heartbeat is one request. */
  look(at: LookedAt & { readonly seen: bigint }): Promise<Look | Waits>
  look(at: Omit<LookedAt, 'seen'>): Promise<Look>
  look(at: LookedAt): Promise<Look | Waits> {
    return new Promise<Look | Waits>((resolve, reject) => this.#queue.add({ at, resolve, reject }))
  }

  async #lookAtAll(asked: readonly Asked[]): Promise<void> {
    try {
      const looks = await this.#port.look(asked.map(({ at }) => at))
      for (const [index, { resolve }] of asked.entries())
        resolve(looks[index] ?? { state: 'absent' })
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}
