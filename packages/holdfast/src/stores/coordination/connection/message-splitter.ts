/**
 * Cuts what a connection brings into messages: each stands behind its length, and may come in any
 * number of pieces. ZooKeeper's begin with the length; those of gRPC have one more byte before it.
 */
const LENGTH_BYTES = 4
/** No answer is nearly as long: a larger number is not a length. */
const LONGEST = 64 * 1024 * 1024

export class MessageSplitter {
  readonly #lengthAt: number
  readonly #headBytes: number
  #pieces: Buffer[] = []
  #held = 0
  /** How many bytes are needed before there is anything to do. */
  #needed: number

  /** @param lengthAt how many bytes stand before the length */
  constructor(lengthAt = 0) {
    this.#lengthAt = lengthAt
    this.#headBytes = lengthAt + LENGTH_BYTES
    this.#needed = this.#headBytes
  }

  /** The messages that are complete now. @throws RangeError when the bytes cannot be messages */
  take(piece: Buffer): Buffer[] {
    this.#pieces.push(piece)
    this.#held += piece.length
    if (this.#held < this.#needed) return []
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const messages: Buffer[] = []
    let at = 0
    this.#needed = this.#headBytes
    while (bytes.length - at >= this.#headBytes) {
      const length = bytes.readInt32BE(at + this.#lengthAt)
      if (length < 0 || length > LONGEST) throw new RangeError(`a message of ${length} bytes`)
      const end = at + this.#headBytes + length
      if (bytes.length < end) {
        this.#needed = end - at
        break
      }
      messages.push(bytes.subarray(at + this.#headBytes, end))
      at = end
    }
    const rest = bytes.subarray(at)
    this.#pieces = rest.length > 0 ? [rest] : []
    this.#held = rest.length
    return messages
  }
}
