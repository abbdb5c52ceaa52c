/**
 * Where entries stand in etcd: `<prefix>locks/<lock>/<shape>/<slot>`, by default below `holdfast/`.
 *
 * The shape keeps locks of different kinds apart, so that a transaction can refuse a claim of
 * another shape. It also separates writers from readers, so that a reader need not read a thousand
 * other readers. Names are escaped, so that a slash in a name does not put one lock inside another.
 * The escape goes letter by letter, so a prefix of a name is a prefix of its key.
 */
import type { Claim } from '../../store/contract.js'

/** What the keys of a store begin with, unless the option `prefix` says otherwise. */
export const DEFAULT_PREFIX = 'holdfast/'

type Shaped = Pick<Claim, 'kind' | 'capacity' | 'weight'>

export interface Span {
  readonly key: string
  /** The first key that is not in it. */
  readonly end: string
}

function escapeName(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F')
}

function unescapeName(text: string): string {
  return text.replaceAll('%2F', '/').replaceAll('%25', '%')
}

/** Everything whose key begins so. */
function spanOf(prefix: string): Span {
  // All prefixes end with a character of one byte that has a successor.
  const last = prefix.codePointAt(prefix.length - 1) ?? 0
  return { key: prefix, end: prefix.slice(0, -1) + String.fromCodePoint(last + 1) }
}

function shapeOf(claim: Shaped): string {
  if (claim.kind === 'semaphore') return `s${claim.capacity}`
  return claim.weight >= claim.capacity ? 'w' : 'r'
}

/** Whether the entry is a mutex or a writer, also one that was downgraded since. */
export function isWriterKey(key: string): boolean {
  return key.slice(0, key.lastIndexOf('/')).endsWith('/w')
}

/**
 * The number of permits of the semaphore that an entry's key belongs to. Undefined for other locks.
 */
export function capacityOf(key: string): number | undefined {
  const permits = /\/s(\d+)\/[^/]*$/.exec(key)?.[1]
  return permits === undefined ? undefined : Number(permits)
}

/** The keys of one store. */
export class Keys {
  /** What all keys of the store begin with. */
  readonly folder: string
  /** What the keys of all entries begin with. */
  readonly root: string
  readonly #gone: string

  constructor(prefix = DEFAULT_PREFIX) {
    this.folder = prefix.endsWith('/') ? prefix : `${prefix}/`
    this.root = `${this.folder}locks/`
    this.#gone = `${this.folder}gone/`
  }

  queueOf(lock: string): Span {
    return spanOf(`${this.root}${escapeName(lock)}/`)
  }

  /** What the keys of all entries of a lock begin with that have the shape of a claim. */
  entryPrefix(claim: Pick<Claim, 'lock'> & Shaped): string {
    return `${this.queueOf(claim.lock).key}${shapeOf(claim)}/`
  }

  /** Says that a claim was withdrawn or stolen. */
  goneKey({ lock, id }: Pick<Claim, 'lock' | 'id'>): string {
    return `${this.#gone}${escapeName(lock)}/${id}`
  }

  /** Returns the ranges that must be empty for a claim to agree with the lock's other claims. */
  otherShapes(lock: string, claim: Shaped): Span[] {
    const { key, end } = this.queueOf(lock)
    if (claim.kind !== 'semaphore') return [{ key: `${key}s`, end: `${key}t` }]
    const own = spanOf(`${key}${shapeOf(claim)}/`)
    return [
      { key, end: own.key },
      { key: own.end, end },
    ]
  }

  /**
   * What stands in a claim's way as long as it is there: for a reader the writers, for all others
   * each claim.
   */
  rivals(lock: string, claim: Shaped): Span {
    const { key } = this.queueOf(lock)
    return claim.kind !== 'semaphore' && claim.weight < claim.capacity
      ? spanOf(`${key}w/`)
      : this.queueOf(lock)
  }

  /** All queues of locks whose names begin with `prefix`. */
  queuesWith(prefix: string): { key: string; end: Uint8Array } {
    const key = `${this.root}${escapeName(prefix)}`
    // No text in UTF-8 has this byte, so it ends the range of keys with the prefix.
    return { key, end: Buffer.concat([Buffer.from(key), Buffer.of(0xff)]) }
  }

  /** The queue behind that of a lock. */
  after(lock: string): string {
    return this.queueOf(lock).end
  }

  /** The lock of an entry's key; undefined for what is none. */
  lockOf(key: string): string | undefined {
    const [lock, shape, slot, ...rest] = key.startsWith(this.root)
      ? key.slice(this.root.length).split('/')
      : []
    if (lock === undefined || shape === undefined || slot === undefined || rest.length > 0)
      return undefined
    return unescapeName(lock)
  }
}
