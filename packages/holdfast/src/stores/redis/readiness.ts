/** Those who wait until a channel is listened to. Each has a promise of its own: nothing is kept of whoever has left. */
export class Readiness {
  readonly #waiting = new Set<() => void>()

  join(): { readonly ready: Promise<void>; leave(): void } {
    let resolve!: () => void
    const ready = new Promise<void>((resolved) => (resolve = resolved))
    this.#waiting.add(resolve)
    return {
      ready,
      leave: () => {
        this.#waiting.delete(resolve)
        resolve()
      },
    }
  }

  /** It is listened to, or will not be any more. */
  tell(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
