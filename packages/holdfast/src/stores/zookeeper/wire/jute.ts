/**
 * Jute, the encoding of ZooKeeper's messages: big-endian numbers, and texts, bytes and lists behind
 * their length.
 *
 * Paths are written with the chroot before them and read without it: no other part knows of
 * it.
 */
const LENGTH_BYTES = 4

export class Writer {
  readonly #chroot: string
  #bytes = Buffer.allocUnsafe(256)
  #at = LENGTH_BYTES

  constructor(chroot = '') {
    this.#chroot = chroot
  }

  int(value: number): this {
    this.#room(4)
    this.#at = this.#bytes.writeInt32BE(value, this.#at)
    return this
  }

  long(value: bigint): this {
    this.#room(8)
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at)
    return this
  }

  bool(value: boolean): this {
    this.#room(1)
    this.#at = this.#bytes.writeUInt8(value ? 1 : 0, this.#at)
    return this
  }

  text(value: string): this {
    const length = Buffer.byteLength(value)
    this.int(length).#room(length)
    this.#at += this.#bytes.write(value, this.#at)
    return this
  }

  bytes(value: Uint8Array): this {
    this.int(value.length).#room(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
    return this
  }

  path(path: string): this {
    return this.text(this.#chroot === '' || path !== '/' ? this.#chroot + path : this.#chroot)
  }

  /** The message as it travels, behind its length. */
  frame(): Buffer {
    this.#bytes.writeInt32BE(this.#at - LENGTH_BYTES, 0)
    return this.#bytes.subarray(0, this.#at)
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

/** Reads one message. A message that is too short for what is read from it is a `RangeError`. */
export class Reader {
  readonly #bytes: Buffer
  readonly #chroot: string
  #at = 0

  constructor(bytes: Buffer, chroot = '') {
    this.#bytes = bytes
    this.#chroot = chroot
  }

  int(): number {
    const value = this.#bytes.readInt32BE(this.#at)
    this.#at += 4
    return value
  }

  long(): bigint {
    const value = this.#bytes.readBigInt64BE(this.#at)
    this.#at += 8
    return value
  }

  bool(): boolean {
    const value = this.#bytes.readUInt8(this.#at) !== 0
    this.#at += 1
    return value
  }

  /** Nothing and no bytes are the same here. */
  bytes(): Buffer {
    const length = Math.max(0, this.int())
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('the message ends too early')
    const value = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return value
  }

  text(): string {
    return this.bytes().toString()
  }

  texts(): string[] {
    const count = Math.max(0, this.int())
    const texts: string[] = []
    while (texts.length < count) texts.push(this.text())
    return texts
  }

  path(): string {
    const path = this.text()
    return path.startsWith(this.#chroot) ? path.slice(this.#chroot.length) || '/' : path
  }
}
