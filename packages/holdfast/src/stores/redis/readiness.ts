/**
 * Those who wait until a channel is listened to. Each has a promise of its own: nothing is kept of
 * whoever has left.
 */

interface Waiting {
  resolve(): void
  reject(error: unknown): void
}

export class Readiness {
  readonly #waiting = new Set<Waiting>()

  join(): { readonly ready: Promise<void>; leave(): void } {
    let waiting!: Waiting
    const ready = new Promise<void>((resolve, reject) => (waiting = { resolve, reject }))
    // Not everybody asks how it ended.
    ready.catch(() => undefined)
    this.#waiting.add(waiting)
    return {
      ready,
      leave: () => {
        this.#waiting.delete(waiting)
        waiting.resolve()
      },
    }
  }

  /** It is listened to, or will not be any more. */
  tell(): void {
    for (const waiting of this.#waiting) waiting.resolve()
    this.#waiting.clear()
  }

  /** It may not be listened to, as things are. Whoever comes later waits for the next try. */
  refuse(error: unknown): void {
    for (const waiting of this.#waiting) waiting.reject(error)
    this.#waiting.clear()
  }
}
