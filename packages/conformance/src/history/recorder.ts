/** Records histories. */
import type { Clock } from 'holdfast'
import type { HistoryEvent, HistoryNote } from './event.js'

/** Records what one client does. */
export class Recorder {
  readonly #client: string
  readonly #write: (event: HistoryEvent) => void
  readonly #nowNs: () => bigint
  readonly #pid: number

  /** @param pid the process of the client, if it is a simulated one */
  constructor(
    client: string,
    write: (event: HistoryEvent) => void,
    nowNs = (): bigint => process.hrtime.bigint(),
    pid: number = process.pid,
  ) {
    this.#client = client
    this.#write = write
    this.#nowNs = nowNs
    this.#pid = pid
  }

  note(note: HistoryNote): void {
    this.#write({ t_ns: this.#nowNs(), pid: this.#pid, client: this.#client, ...note })
  }

  /** Returns when a lease ends that lasts `remainingMs` from now, rounded down. */
  deadlineNs(remainingMs: () => number): bigint {
    const nowNs = this.#nowNs()
    return nowNs + BigInt(Math.floor(remainingMs() * 1e6))
  }
}

/** Returns a function that reads the clock in nanoseconds, as histories need it. */
export function nanoseconds(clock: Clock): () => bigint {
  return () => BigInt(Math.round(clock.monotonicMs() * 1e6))
}
