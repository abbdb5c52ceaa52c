/** Cuts what a connection brings into messages: each stands behind its length, and may come in any number of pieces. */
const LENGTH_BYTES = 4
/** No answer is nearly as long: a larger number is not a length. */
const LONGEST = 64 * 1024 * 1024

export class Frames {
  #pieces: Buffer[] = []
  #held = 0
  /** How many bytes are needed before there is anything to do. */
  #needed = LENGTH_BYTES

  /** The messages that are complete now. @throws RangeError when the bytes cannot be messages */
  take(piece: Buffer): Buffer[] {
    this.#pieces.push(piece)
    this.#held += piece.length
    if (this.#held < this.#needed) return []
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const messages: Buffer[] = []
    let at = 0
    this.#needed = LENGTH_BYTES
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readInt32BE(at)
      if (length < 0 || length > LONGEST) throw new RangeError(`a message of ${length} bytes`)
      if (bytes.length - at < LENGTH_BYTES + length) {
        this.#needed = LENGTH_BYTES + length
        break
      }
      messages.push(bytes.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length))
      at += LENGTH_BYTES + length
    }
    const rest = bytes.subarray(at)
    this.#pieces = rest.length > 0 ? [rest] : []
    this.#held = rest.length
    return messages
  }
}
