/**
 * Reads that are shared by all callers that want the same thing at the same time.
 *
 * A read leaves at the end of the tick, and while no other read for its key is in flight. So it
 * shows everything that was sent before the call, and a thousand callers cost one or two reads.
 */
interface Reading<T> {
  /** The read that will be sent, for all that have asked since the last one left. */
  next: Promise<T> | undefined
  /** Settles with the read in flight. */
  inFlight: Promise<unknown> | undefined
}

export class SharedReads<T> {
  readonly #read: (key: string) => Promise<T>
  readonly #readings = new Map<string, Reading<T>>()

  constructor(read: (key: string) => Promise<T>) {
    this.#read = read
  }

  /** Reads as things are when this is called, or later. */
  get(key: string): Promise<T> {
    let reading = this.#readings.get(key)
    if (!reading) this.#readings.set(key, (reading = { next: undefined, inFlight: undefined }))
    reading.next ??= this.#readNext(key, reading)
    return reading.next
  }

  async #readNext(key: string, reading: Reading<T>): Promise<T> {
    await reading.inFlight
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const read = this.#read(key)
    reading.next = undefined
    reading.inFlight = read.catch(() => undefined)
    try {
      return await read
    } finally {
      if (!reading.next) this.#readings.delete(key)
    }
  }
}
