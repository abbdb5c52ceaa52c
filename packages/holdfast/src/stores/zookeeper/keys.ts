/**
 * Names of nodes: `/holdfast/<lock>/<shape>+<weight>+<claim id>+<sequence>`.
 *
 * A child's name says all that decides a grant, so that one list of names is enough. Names of locks
 * are escaped to ASCII: ZooKeeper takes no slash, no `.` and `..`, and none of the characters
 * beyond the basic plane.
 */
import { newerFormat } from '../../store/errors.js'
import type { Claim } from '../../store/contract.js'
import { ENTRY_FORMAT } from '../coordination/wire.js'

export const ROOT = '/holdfast'
const GONE = 'gone+'

type Shaped = Pick<Claim, 'kind' | 'capacity' | 'weight'>

export interface Child {
  readonly name: string
  readonly shape: string
  readonly weight: number
  readonly id: string
  readonly sequence: number
}

export function parentOf(lock: string): string {
  // Only a leading dot can make the name a path of its own.
  return `${ROOT}/${encodeURIComponent(lock).replace(/^\./, '%2E')}`
}

export function lockOf(node: string): string | undefined {
  try {
    return decodeURIComponent(node)
  } catch {
    return undefined
  }
}

/**
 * `w` for a claim that excludes all others, `r` for readers, `s4` for the permits of a semaphore of
 * four.
 */
export function shapeOf({ kind, capacity, weight }: Shaped): string {
  if (kind === 'semaphore') return `s${capacity}`
  return weight >= capacity ? 'w' : 'r'
}

/** What ZooKeeper puts its sequence number behind. */
export function childPrefix(claim: Claim): string {
  return `${parentOf(claim.lock)}/${shapeOf(claim)}+${claim.weight}+${claim.id}+`
}

/** Says that a claim was withdrawn. */
export function goneName(id: string): string {
  return `${GONE}${id}`
}

export function isGoneName(name: string): boolean {
  return name.startsWith(GONE)
}

/** Called for every name of a queue at every read: so no regular expression. */
export function parseChild(name: string): Child | undefined {
  const [shape = '', weight, id, sequence, ...more] = name.split('+')
  if (sequence === undefined || sequence.length < 10 || more.length > 0 || id === undefined)
    return undefined
  return { name, shape, weight: Number(weight), id, sequence: Number(sequence) }
}

/** The number that ZooKeeper gave an entry; NaN where there is none. */
export function sequenceOf(path: string): number {
  return Number(path.slice(path.lastIndexOf('+') + 1))
}

/**
 * @throws StoreUnavailableError (`STORE_FORMAT`) for an entry of an unknown shape: a newer version
 * made it, and it may hold.
 */
export function checkShapes(lock: string, queue: readonly Child[]): void {
  const strange = queue.find(
    ({ shape }) => shape !== 'w' && shape !== 'r' && (!shape.startsWith('s') || shape.length === 1),
  )
  if (!strange) return
  const found = `the shape "${strange.shape}"`
  throw newerFormat('An entry in the queue', {
    found,
    known: ENTRY_FORMAT,
    store: 'zookeeper',
    lock,
  })
}

/** The entries among the children, in the order in which they were made. */
export function queueOf(children: readonly string[]): Child[] {
  return children.flatMap((name) => parseChild(name) ?? []).sort(bySequence)
}

/**
 * ZooKeeper counts in 32 bits and goes from 2147483647 on to -2147483648. The entries of one
 * queue are never two thousand million apart, so the sign of the difference in 32 bits is their
 * order.
 */
export function bySequence(one: Pick<Child, 'sequence'>, other: Pick<Child, 'sequence'>): number {
  return (one.sequence - other.sequence) | 0
}

/**
 * Whether two shapes can be weighed against each other: a mutex is the writer of a readers-writer
 * lock.
 */
export function areAlike(one: string, other: string): boolean {
  return one === other || (!one.startsWith('s') && !other.startsWith('s'))
}
