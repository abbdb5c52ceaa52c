/**
 * The protocol buffers encoding, as much of it as etcd's messages need: varints and
 * length-delimited fields.
 */

/**
 * What a field may be set to. What is undefined, zero, empty or false is left out, as proto3 has
 * it.
 */
export type FieldValue = bigint | number | boolean | string | Uint8Array | undefined

const EMPTY = Buffer.alloc(0)

/** One message out of its fields. A repeated field is several pairs. */
export function message(
  ...fields: readonly (readonly [field: number, value: FieldValue])[]
): Buffer {
  const parts: Uint8Array[] = []
  for (const [field, value] of fields) appendField(parts, field, value)
  return parts.length === 0 ? EMPTY : Buffer.concat(parts)
}

/** The same message in each of several fields of one number. */
export function repeated(
  field: number,
  messages: readonly Uint8Array[],
): (readonly [number, Uint8Array | undefined])[] {
  return messages.map((one) => [field, one] as const)
}

function appendField(parts: Uint8Array[], field: number, value: FieldValue): void {
  if (value === undefined || value === '' || value === false) return
  if (typeof value === 'string' || value instanceof Uint8Array) {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    parts.push(varint(field * 8 + 2), varint(bytes.length), bytes)
    return
  }
  const number = value === true ? 1 : value
  if (Number(number) === 0) return
  parts.push(varint(field * 8), varint(number))
}

function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = []
  if (typeof value === 'number') {
    let rest = value
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) + 0x80)
      rest = Math.floor(rest / 0x80)
    }
    bytes.push(rest)
  } else {
    let rest = BigInt.asUintN(64, value)
    while (rest >= 0x80n) {
      bytes.push(Number(rest & 0x7fn) + 0x80)
      rest >>= 7n
    }
    bytes.push(Number(rest))
  }
  return Uint8Array.from(bytes)
}

/** Calls back with each field of a message. Fields of kinds that etcd does not use are an error. */
export function fieldsOf(
  bytes: Buffer,
  take: (field: number, value: bigint | Buffer) => void,
): void {
  let at = 0
  const readVarint = (): bigint => {
    let low = 0
    let factor = 1
    // Seven groups of seven bits are exact in a double; longer ones are rare.
    for (let count = 0; count < 7; count += 1) {
      const byte = byteAt(bytes, at)
      at += 1
      low += (byte & 0x7f) * factor
      if (byte < 0x80) return BigInt(low)
      factor *= 0x80
    }
    let value = BigInt(low)
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = byteAt(bytes, at)
      at += 1
      value += BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new Error('A number in a message of etcd has no end.')
  }
  while (at < bytes.length) {
    const tag = Number(readVarint())
    const field = Math.floor(tag / 8)
    if (tag % 8 === 0) take(field, readVarint())
    else if (tag % 8 === 2) {
      const length = Number(readVarint())
      if (at + length > bytes.length) throw new Error('A message of etcd was cut off.')
      take(field, bytes.subarray(at, at + length))
      at += length
    } else throw new Error(`A message of etcd has a field of the unknown wire type ${tag % 8}.`)
  }
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw new Error('A message of etcd was cut off.')
  return byte
}

/** What a message holds under a field: the last one counts, as proto3 has it. */
export class Fields {
  readonly #values = new Map<number, (bigint | Buffer)[]>()

  constructor(bytes: Buffer) {
    fieldsOf(bytes, (field, value) => {
      const values = this.#values.get(field)
      if (values) values.push(value)
      else this.#values.set(field, [value])
    })
  }

  int(field: number): bigint {
    const value = this.#values.get(field)?.at(-1)
    return typeof value === 'bigint' ? value : 0n
  }

  flag(field: number): boolean {
    return this.int(field) !== 0n
  }

  bytes(field: number): Buffer {
    const value = this.#values.get(field)?.at(-1)
    return value === undefined || typeof value === 'bigint' ? EMPTY : value
  }

  text(field: number): string {
    return this.bytes(field).toString()
  }

  all(field: number): Buffer[] {
    return (this.#values.get(field) ?? []).filter((value) => typeof value !== 'bigint')
  }

  has(field: number): boolean {
    return this.#values.has(field)
  }

  sub(field: number): Fields {
    return new Fields(this.bytes(field))
  }
}
