/** The tokens that one server voted with and sealed, in their order. */

export interface TokenMark {
  readonly kind: 'vote' | 'seal'
  readonly lock: string
  readonly claimId: string
  readonly token: bigint
  /** How many times the server had lost data before. */
  readonly life: number
}

export class TokenLog {
  readonly marks: TokenMark[] = []
  #life = 0

  note(kind: TokenMark['kind'], lock: string, claimId: string, token: bigint | undefined): void {
    if (token !== undefined) this.marks.push({ kind, lock, claimId, token, life: this.#life })
  }

  /** The server lost data: what it sealed before covers no token any more. */
  startLife(): void {
    this.#life += 1
  }
}
