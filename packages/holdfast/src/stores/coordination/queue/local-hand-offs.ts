/**
 * Hand-offs inside one process, without another read.
 *
 * A claim that held all of a lock had no claim before it. No claim can come between it and the
 * claim right behind it. So when both are claims of this client, and the service has confirmed that
 * the first one's entry is taken out, the second one holds. The second claim's entry must also
 * still be there. Whether its session lives is a matter of time, which the client knows. The first
 * renewal notices an entry that was removed by hand.
 */
export interface LocalSuccessor {
  /** The one before it held, and has left. */
  go(): void
  /** The one before it may have left. */
  readAgain(): void
}

export class LocalHandOffs {
  /** The claims for all of a lock, by the key of the entry right before them. */
  readonly #behind = new Map<string, LocalSuccessor>()
  readonly #leaving = new Set<string>()

  register(key: string, successor: LocalSuccessor): () => void {
    this.#behind.set(key, successor)
    return () => {
      if (this.#behind.get(key) === successor) this.#behind.delete(key)
    }
  }

  /**
   * Returns whether the removal of this entry is in flight: the claim behind it is woken in any
   * case.
   */
  isLeaving(key: string): boolean {
    return this.#leaving.has(key)
  }

  /**
   * Takes out the entry of a claim that held all of a lock. The claim right behind it is
   * next.
   */
  async leave(key: string, leave: () => Promise<boolean>): Promise<boolean> {
    this.#leaving.add(key)
    let removed = false
    try {
      removed = await leave()
      return removed
    } finally {
      this.#leaving.delete(key)
      const next = this.#behind.get(key)
      if (removed) next?.go()
      else next?.readAgain()
    }
  }
}
