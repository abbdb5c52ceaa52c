/**
 * The names in the queue of a lock, listed once for all claims of one session that look at the same
 * time. Requests of one session are answered in their order, so the list shows every entry that was
 * made on it before it was asked for.
 */
import type { Predecessor } from '../../coordination/connection/service.js'
import { SharedReads } from '../../coordination/queue/shared-reads.js'
import { QueueView, type QueueMember } from '../../coordination/queue/queue-view.js'
import { areAlike, checkShapes, isGoneName, parentOf, queueOf, type Child } from '../keys.js'
import type { ZooKeeperSession } from '../session/session.js'
import { childrenOf } from './tree.js'

/** The queue of a lock, as one list of names shows it. */
export class NamedQueue {
  readonly view: QueueView
  readonly #children: ReadonlySet<string>
  /** The first entry of each shape. */
  readonly #firsts = new Map<string, { readonly child: Child; readonly number: number }>()
  readonly #numbers = new Map<string, number>()
  readonly #weights = new Map<string, Promise<number | undefined>>()

  /**
   * @throws StoreUnavailableError (`STORE_FORMAT`) when a newer version has made one of the
   * entries.
   */
  constructor(lock: string, children: readonly string[]) {
    const queue = queueOf(children)
    checkShapes(lock, queue)
    const parent = parentOf(lock)
    this.#children = new Set(children)
    this.view = new QueueView(
      queue.map(({ name, weight, shape }): QueueMember => ({
        key: `${parent}/${name}`,
        weight,
        isWriter: shape === 'w',
      })),
    )
    for (const [number, child] of queue.entries()) {
      this.#numbers.set(`${parent}/${child.name}`, number)
      if (!this.#firsts.has(child.shape)) this.#firsts.set(child.shape, { child, number })
    }
  }

  /** Whether it has marks of withdrawn claims. */
  get hasMarks(): boolean {
    return [...this.#children].some(isGoneName)
  }

  /** Whether the lock has a child of this name, an entry or not. */
  hasChild(name: string): boolean {
    return this.#children.has(name)
  }

  /** What a writer weighs now, read once for all that want to know. */
  weightOf(
    writer: Predecessor,
    read: () => Promise<number | undefined>,
  ): Promise<number | undefined> {
    let weight = this.#weights.get(writer.key)
    if (!weight) this.#weights.set(writer.key, (weight = read()))
    return weight
  }

  /** The first entry before another one that cannot be weighed against claims of this shape. */
  strangerBefore(key: string, shape: string): Child | undefined {
    const own = this.#numbers.get(key) ?? 0
    for (const { child, number } of this.#firsts.values()) {
      if (number < own && !areAlike(child.shape, shape)) return child
    }
    return undefined
  }
}

const LISTS = new WeakMap<ZooKeeperSession, SharedReads<NamedQueue>>()

/** Lists a queue as it is when this is called, or later. */
export function listQueue(session: ZooKeeperSession, lock: string): Promise<NamedQueue> {
  let lists = LISTS.get(session)
  if (!lists) {
    const list = async (name: string): Promise<NamedQueue> =>
      new NamedQueue(name, await childrenOf(session, parentOf(name)))
    lists = new SharedReads(list)
    LISTS.set(session, lists)
  }
  return lists.get(lock)
}
