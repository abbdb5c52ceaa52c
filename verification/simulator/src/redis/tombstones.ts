/**
 * The tombstones of claims all of whose attempts were answered. Redis keeps the last of them only,
 * so that a busy lock does not grow. A firm tombstone stays for its TTL.
 */
import type { LockState } from 'holdfast/internal'

/** As few as a very busy lock has. */
export const FEW_TOMBSTONES = 2

export class CommonTombstones {
  readonly #kept: number
  readonly #common = new Set<string>()
  readonly #firm = new Set<string>()

  constructor(kept: number) {
    this.#kept = kept
  }

  /** A claim was withdrawn. */
  note(id: string, firm: boolean, { tombstones }: Pick<LockState, 'tombstones'>): void {
    if (firm) this.#firm.add(id)
    this.#common.delete(id)
    if (this.#firm.has(id)) return
    this.#common.add(id)
    for (const oldest of this.#common) {
      if (this.#common.size <= this.#kept) return
      this.#common.delete(oldest)
      tombstones.delete(oldest)
    }
  }
}
